//! The nodes of a nest: loops, scopes of buffers, computes, reductions across invocations, barriers and branches. [The module's
//! page](super) explains how they work together.

use super::{AxisId, BufferId, StageId, Tail};
use crate::diag::SpanId;
use crate::expr::{ExprId, Exprs, Outside, Read};

/// One dispatch: what a grid of workgroups runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The name of the stage that it computes.
    pub name: String,
    /// Invocations of a workgroup in x, y and z. Set by lowering; `[1, 1, 1]` before.
    pub local: [u32; 3],
    /// Its nodes. Loops bound to workgroups are outside all others.
    pub body: Block,
}

/// Nodes that run one after another.
pub type Block = Vec<Node>;

/// A node of the nest, and the directive (or definition) that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// The directive or definition that errors about the node point to.
    pub span: SpanId,
}

/// The kinds of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// Executes a block for every value of an axis.
    Loop(Loop),
    /// The scope of a buffer.
    Alloc {
        /// A shared, register or fragment buffer.
        buffer: BufferId,
        /// The nodes that can access it.
        body: Block,
    },
    /// Stores one value at one place. For a tuple, each component has its own place.
    Compute(Compute),
    /// Combines the partial states of several invocations into one state.
    AllReduce(AllReduce),
    /// A barrier of a workgroup or subgroup.
    Barrier {
        /// The invocations that wait.
        scope: Scope,
    },
    /// A branch. The condition is uniform for all lanes, and for all invocations that synchronize in one of the blocks. Both blocks compute
    /// the same values. The first may lack the predicates that the condition implies (`lower::branches`).
    Branch {
        /// A bool over dims and axes.
        cond: ExprId,
        /// Executed if it is true.
        then: Block,
        /// Executed if it is false.
        other: Block,
    },
}

/// A loop over an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The axis. Its extent is `axes[axis].extent`.
    pub axis: AxisId,
    /// How its iterations are executed.
    pub exec: Exec,
    /// The number of iterations of a serial loop that ends before its extent. In later iterations each leaf has a false predicate, or
    /// only fills registers that are local to the loop. The number may be negative, which means no iteration.
    pub end: Option<ExprId>,
    /// The nodes that each iteration executes.
    pub body: Block,
}

impl Loop {
    /// Returns a loop over all values of an axis.
    pub fn new(axis: AxisId, exec: Exec, body: Block) -> Loop {
        Loop { axis, exec, end: None, body }
    }
}

/// How a loop's iterations are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exec {
    /// One after another.
    Serial,
    /// One after another, unrolled. The extent is a literal.
    Unroll,
    /// Together, as the components of vectors. The extent is a literal power of two.
    Lanes,
    /// Together, by an instruction that adds the products of the bytes in two words. The axis belongs to a sum, and its extent is the bytes of
    /// a word. The loop contains only the update of the sum.
    Dot,
    /// Together, by a subgroup, as a side of cooperative matrices. The extent is a literal.
    Matrix(Side),
    /// Each by its own invocation, subgroup or workgroup.
    Bind(Level, Slot),
    /// Only one of them, for a step of a pipeline.
    Step(Step),
}

/// The iteration that is executed for a step of a pipeline. If the axis has no values, no iteration is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The iteration with this number, or the last one if there are fewer.
    First(u32),
    /// The iteration that is this many after the current one of the enclosing loop over another axis, or the last one if there are fewer.
    Ahead(AxisId, u32),
}

/// The sides of a multiplication of matrices: `rows x depth` times `depth x columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The rows of the result.
    Rows,
    /// The columns of the result.
    Columns,
    /// The dimension that the products are summed over.
    Depth,
}

/// The units that a bound axis is distributed across.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Workgroups of the grid. Several axes may share a slot: the outermost is the slowest.
    Workgroup,
    /// Subgroups of a workgroup. A slot has as many subgroups as the longest loop of the dispatch that is bound to it. Z is the slowest, and
    /// the product of X, Y and Z is the number of subgroups.
    Subgroup,
    /// Invocations of a subgroup (`SubgroupLocalInvocationId`, whatever the slot).
    Lane,
    /// Invocations of a workgroup. The extent is a literal. On any path, each slot has at most one axis.
    Thread,
}

/// A coordinate of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names of Vulkan's coordinates")]
pub enum Slot {
    X,
    Y,
    Z,
    /// The index that runs over all three, x fastest (`LocalInvocationIndex`).
    Linear,
}

impl Slot {
    /// Returns the number of the coordinate. The linear index counts as x, because it is used with one-dimensional grids and workgroups.
    pub fn index(self) -> usize {
        match self {
            Slot::X | Slot::Linear => 0,
            Slot::Y => 1,
            Slot::Z => 2,
        }
    }
}

/// The invocations that take part in a barrier or reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of Vulkan's scopes")]
pub enum Scope {
    Invocation,
    Subgroup,
    Workgroup,
    Device,
}

/// A place in a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The buffer.
    pub buffer: BufferId,
    /// One index per dimension (after the version, if it has several).
    pub index: Vec<ExprId>,
}

/// An access that a node makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accessed {
    /// The place that is accessed.
    pub place: Access,
    /// The treatment of out-of-bounds indices.
    pub outside: Outside,
    /// The part of the node that makes the access.
    pub by: Accessor,
}

/// The part of a node that makes an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accessor {
    /// A value or an operand that it computes.
    Value,
    /// The value that a whole reduction stores.
    Finish,
    /// A component of the state that an update is given.
    Given,
    /// A partial state that an all-reduce combines.
    Partial,
    /// An index, a condition or the end of a loop.
    Index,
    /// A store. The place that an update or an atomic reduction changes counts as stored only.
    Store,
}

impl Accessed {
    /// True for a write.
    pub fn writes(&self) -> bool {
        self.by == Accessor::Store
    }

    /// True for a read of a value that another node has finished. The state that an update combines with is not finished.
    pub fn takes_result(&self) -> bool {
        !matches!(self.by, Accessor::Store | Accessor::Given)
    }
}

/// The computation and store of one value, or of a tuple.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compute {
    /// The stage that it computes.
    pub stage: StageId,
    /// The part of the stage's work.
    pub phase: Phase,
    /// The destinations: one place for each value.
    pub dst: Vec<Access>,
    /// The number of leading components of a reduction's state that an update only reads and an init does not write. They depend on fewer
    /// axes than the other components, so another leaf computes them, once for each of their places.
    pub given: usize,
    /// The stored values for `Whole` of a map, `Init` and `Finish`. The operands for `Whole` of a reduction and `Update`.
    pub value: Vec<ExprId>,
    /// The value computed from a reduction's state and stored, for `Whole` of a reduction.
    pub finish: Option<ExprId>,
    /// The axes that can be out of bounds here, outermost first.
    pub preds: Vec<Pred>,
}

impl Compute {
    /// Returns all expressions that it computes.
    pub fn values(&self) -> impl Iterator<Item = ExprId> {
        self.value.iter().copied().chain(self.finish)
    }

    /// Returns the places that it writes.
    pub fn written(&self) -> &[Access] {
        &self.dst[self.given.min(self.dst.len())..]
    }

    /// Returns all expressions that it computes, mutably: its values, and the indices of its destinations that depend on data.
    pub fn values_mut(&mut self, exprs: &Exprs) -> impl Iterator<Item = &mut ExprId> {
        let places = self.dst.iter_mut().flat_map(|to| &mut to.index).filter(|at| !exprs.reads(**at).is_empty());
        self.value.iter_mut().chain(&mut self.finish).chain(places)
    }
}

/// The part of a stage's work that a compute does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// All of the work. Reductions have this form only before lowering.
    Whole,
    /// Stores the identity in the accumulator.
    Init,
    /// Combines an operand with the accumulator: `dst = combine(dst, value)`. The accumulator of a scattered reduction
    /// ([`Notes::scattered`](super::Notes::scattered)) is in memory, and `dst` names the element that the data choose.
    Update,
    /// An update of memory by one atomic operation, because several invocations update the same elements.
    Atomic,
    /// Stores the loop-carried value of a running reduction instead of the identity: its previous result, or the state of the reduction that
    /// it is an operand of.
    Resume,
    /// Stores a value computed from the accumulator in the stage's buffer. The accumulator's components are ordinary reads.
    Finish,
}

/// An axis that can be out of bounds, and the effect on a compute (see [the module's page](super)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred {
    /// The axis. It is inexact, or bound to more threads than it has values.
    pub axis: AxisId,
    /// With [`Tail::RoundUp`], an update's reads are filled. Otherwise, the update combines with the identity.
    pub tail: Tail,
}

/// A reduction across invocations. Invocations that differ only in the axes of `over` are a *team*. Each invocation of a team gets the
/// same result, `dst = combine(src of the team)`. Each lane of a vector is reduced separately.
///
/// In loops over the sides of matrices, it combines the elements of each row: `over` is the axis of columns, and `dst` is indexed by rows
/// only. With [`How::Tree`], each lane combines some rows in shared memory.
///
/// With [`How::Atomic`], each invocation combines its state with a place in device memory, `dst = combine(dst, src)`. An earlier dispatch
/// has filled it with the identity. The result is only in device memory, and not in any invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduce {
    /// The stage whose monoid combines.
    pub stage: StageId,
    /// The invocations that take part: a `Subgroup` (all axes of `over` are bound to its lanes, or are a side of its matrices), a `Workgroup`, or
    /// the `Device` (with atomics).
    pub scope: Scope,
    /// The method.
    pub how: How,
    /// The partial states in registers, one place for each component.
    pub src: Vec<Access>,
    /// The results in registers, or in device memory with atomics.
    pub dst: Vec<Access>,
    /// The reduced axes. They are bound to invocations, or to workgroups with atomics.
    pub over: Vec<AxisId>,
    /// With atomics, the axes that can be out of bounds here. An out-of-bounds result is not written.
    pub preds: Vec<Pred>,
    /// The shared buffer that a tree over rows of matrices reuses for their elements. `None` if it has its own memory.
    pub scratch: Option<Scratch>,
}

/// A shared buffer whose storage is reused for the elements of a matrix while the buffer's own contents are dead. Element (r, c) of
/// subgroup s is the buffer's element `s part + r row + c column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The buffer.
    pub buffer: BufferId,
    /// The stride from one subgroup's first element to the next subgroup's.
    pub part: i64,
    /// The stride between rows.
    pub row: i64,
    /// The stride between columns.
    pub column: i64,
}

/// The method of a reduction across invocations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Subgroup arithmetic, or shuffles (and, if the scope is a workgroup, the states of subgroups through shared memory).
    Subgroup,
    /// A tree in shared memory with one state for each invocation. It includes its barriers.
    Tree,
    /// Atomics on the destination, in device memory.
    Atomic,
    /// One instruction that reduces the elements of each row of a matrix.
    Matrix,
}

impl Node {
    /// Returns a node made by the directive at `span`.
    pub fn new(kind: NodeKind, span: SpanId) -> Node {
        Node { kind, span }
    }

    /// Returns a barrier.
    pub fn barrier(scope: Scope, span: SpanId) -> Node {
        Node::new(NodeKind::Barrier { scope }, span)
    }

    /// Returns the expressions that it names itself, without the nodes inside it, each with its part of the node.
    pub fn exprs(&self) -> Vec<(ExprId, Accessor)> {
        let all = |exprs: &[ExprId], by: Accessor| exprs.iter().map(|e| (*e, by)).collect::<Vec<_>>();
        let mut found = match &self.kind {
            NodeKind::Compute(compute) => {
                [all(&compute.value, Accessor::Value), all(compute.finish.as_slice(), Accessor::Finish)].concat()
            }
            NodeKind::Loop(looped) => all(looped.end.as_slice(), Accessor::Index),
            NodeKind::Branch { cond, .. } => all(&[*cond], Accessor::Index),
            NodeKind::AllReduce(_) | NodeKind::Alloc { .. } | NodeKind::Barrier { .. } => Vec::new(),
        };
        found.extend(self.places().into_iter().flat_map(|(place, _)| all(&place.index, Accessor::Index)));
        found
    }

    /// Returns the places of states and results that it accesses.
    fn places(&self) -> Vec<(&Access, Accessor)> {
        fn all(places: &[Access], by: Accessor) -> impl Iterator<Item = (&Access, Accessor)> {
            places.iter().map(move |place| (place, by))
        }
        match &self.kind {
            NodeKind::Compute(compute) => {
                let given = &compute.dst[..compute.dst.len() - compute.written().len()];
                // An init leaves the components that it is given.
                let given = if compute.phase == Phase::Init { &[] } else { given };
                all(given, Accessor::Given).chain(all(compute.written(), Accessor::Store)).collect()
            }
            NodeKind::AllReduce(c) => all(&c.src, Accessor::Partial).chain(all(&c.dst, Accessor::Store)).collect(),
            NodeKind::Loop(_) | NodeKind::Alloc { .. } | NodeKind::Barrier { .. } | NodeKind::Branch { .. } => Vec::new(),
        }
    }

    /// Returns the node's own accesses, without the nodes inside it. Equal accesses are returned once.
    pub fn accesses(&self, exprs: &Exprs) -> Vec<Accessed> {
        let mut found: Vec<Accessed> = Vec::new();
        let reads = self.exprs().into_iter().flat_map(|(e, by)| exprs.reads(e).into_iter().map(move |read| (read, by)));
        let reads = reads.map(|(Read { buffer, index, outside }, by)| Accessed {
            place: Access { buffer, index: index.to_vec() },
            outside,
            by,
        });
        let places = self.places().into_iter();
        let places = places.map(|(place, by)| Accessed { place: place.clone(), outside: Outside::Never, by });
        for access in reads.chain(places) {
            if !found.contains(&access) {
                found.push(access);
            }
        }
        found
    }

    /// True if it reads a buffer itself.
    pub fn reads(&self, exprs: &Exprs, buffer: BufferId) -> bool {
        self.accesses(exprs).iter().any(|access| !access.writes() && access.place.buffer == buffer)
    }

    /// Returns the buffers that it writes, without the nodes inside it.
    pub fn writes(&self) -> Vec<BufferId> {
        self.places().into_iter().filter(|(_, by)| *by == Accessor::Store).map(|(place, _)| place.buffer).collect()
    }

    /// Returns its predicates.
    pub fn preds(&self) -> &[Pred] {
        match &self.kind {
            NodeKind::Compute(compute) => &compute.preds,
            NodeKind::AllReduce(reduction) => &reduction.preds,
            _ => &[],
        }
    }

    /// Returns the blocks inside it.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (first, second) = match &self.kind {
            NodeKind::Loop(l) => (Some(&l.body), None),
            NodeKind::Alloc { body, .. } => (Some(body), None),
            NodeKind::Branch { then, other, .. } => (Some(then), Some(other)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Returns the blocks inside it, mutably.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let (first, second) = match &mut self.kind {
            NodeKind::Loop(l) => (Some(&mut l.body), None),
            NodeKind::Alloc { body, .. } => (Some(body), None),
            NodeKind::Branch { then, other, .. } => (Some(then), Some(other)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }
}
