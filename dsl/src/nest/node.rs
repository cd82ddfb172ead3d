//! The nodes of a nest, and what stands in them: loops, the lives of buffers, computes and what is done by many invocations. What
//! they mean together says [the module's page](super).

use super::{AxisId, BufferId, StageId, Tail};
use crate::diag::SpanId;
use crate::expr::ExprId;

/// One dispatch: what a grid of workgroups runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The stage that it is for.
    pub name: String,
    /// Invocations of a workgroup in x, y and z. Set by lowering; `[1, 1, 1]` before.
    pub local: [u32; 3],
    /// What runs. Loops bound to workgroups stand outside everything else.
    pub body: Block,
}

/// Nodes that run one after another.
pub type Block = Vec<Node>;

/// A node of the nest, and the directive (or definition) that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: NodeKind,
    /// The directive to blame.
    pub span: SpanId,
}

/// The kinds of nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// For every value of an axis.
    Loop(Loop),
    /// A buffer's life.
    Alloc {
        /// A shared, register or fragment buffer.
        buffer: BufferId,
        /// Where it lives.
        body: Block,
    },
    /// One value to one place (of a tuple: each component to its place).
    Compute(Compute),
    /// A reduction of one partial state an invocation to one state.
    AllReduce(AllReduce),
    /// A barrier of a workgroup or subgroup.
    Barrier {
        /// Who waits.
        scope: Scope,
    },
    /// A choice that is the same for all lanes, and for all invocations that meet in one of the blocks. Both compute the same: the first one
    /// may have fewer predicates, where the condition says that they hold (`lower::peel`).
    Branch {
        /// A bool over dims and axes.
        cond: ExprId,
        /// Where it holds.
        then: Block,
        /// Where it does not.
        other: Block,
    },
}

/// A loop over an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loop {
    /// The axis; of extent `axes[axis].extent`.
    pub axis: AxisId,
    /// How its iterations are executed.
    pub exec: Exec,
    /// Before which iteration a serial loop ends, where that is not its extent: behind it, no
    /// leaf's predicates hold, or it fills registers of the loop's own. It may be negative.
    pub end: Option<ExprId>,
    /// What is executed.
    pub body: Block,
}

impl Loop {
    /// A loop over the whole of an axis.
    pub fn new(axis: AxisId, exec: Exec, body: Block) -> Loop {
        Loop { axis, exec, end: None, body }
    }
}

/// How a loop's iterations are executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exec {
    /// One after another.
    Serial,
    /// One after another, written out. The extent is a literal.
    Unroll,
    /// Together, as the components of vectors. The extent is a literal power of two.
    Lanes,
    /// Together, by a subgroup, as a side of cooperative matrices. The extent is a literal.
    Matrix(Side),
    /// Each by an invocation (or a group of them) of its own.
    Bind(Level, Slot),
    /// One of them: for a step of a pipeline.
    Step(Step),
}

/// Which iteration is executed for a step of a pipeline. There is none of an axis without values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// This one, or the last.
    First(u32),
    /// The one that comes so much later than that of the loop over another axis, which is around; or the last.
    Ahead(AxisId, u32),
}

/// The sides of a multiplication of matrices: `rows x depth` times `depth x columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The rows of the result.
    Rows,
    /// The columns of the result.
    Columns,
    /// What the products are summed over.
    Depth,
}

/// What a bound axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Workgroups of the grid. Several axes may share a slot: the outermost is the slowest.
    Workgroup,
    /// Subgroups of a workgroup. A slot has as many as the most that a loop of the dispatch counts in it; Z is the slowest, and
    /// the product of X, Y and Z is the number of subgroups.
    Subgroup,
    /// Invocations of a subgroup (`SubgroupLocalInvocationId`, whatever the slot).
    Lane,
    /// Invocations of a workgroup. The extent is a literal. One axis a slot on any path.
    Thread,
}

/// Which of a level's coordinates.
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
    /// Which of three coordinates it is. The linear index of a row of invocations, or of a grid, is its x.
    pub fn index(self) -> usize {
        match self {
            Slot::X | Slot::Linear => 0,
            Slot::Y => 1,
            Slot::Z => 2,
        }
    }
}

/// Who takes part.
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

/// One value to one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compute {
    /// Whose.
    pub stage: StageId,
    /// Which part of the stage's work.
    pub phase: Phase,
    /// Where to: one place for each value.
    pub dst: Vec<Access>,
    /// Of a reduction's state: how many of the first components an update only reads, and an init leaves. They do not depend on all
    /// axes that the others do, and another leaf, of their places alone, has them.
    pub given: usize,
    /// `Whole` of a map, `Init` and `Finish`: what is stored. `Whole` of a reduction, and `Update`: the items.
    pub value: Vec<ExprId>,
    /// `Whole` of a reduction: what is stored of its state.
    pub finish: Option<ExprId>,
    /// What can run past its extent here, outermost first.
    pub preds: Vec<Pred>,
}

impl Compute {
    /// All that it computes.
    pub fn values(&self) -> impl Iterator<Item = ExprId> {
        self.value.iter().copied().chain(self.finish)
    }

    /// The places that it writes.
    pub fn written(&self) -> &[Access] {
        &self.dst[self.given.min(self.dst.len())..]
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut ExprId> {
        self.value.iter_mut().chain(&mut self.finish)
    }
}

/// Which part of a stage's work a compute does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// All of it. For a reduction this is only a form before lowering.
    Whole,
    /// The identity into the accumulator.
    Init,
    /// An item into the accumulator: `dst = combine(dst, value)`.
    Update,
    /// Instead of the identity, what a running reduction has so far: its last result, or the state of the reduction that it is an item of.
    Resume,
    /// From the accumulator, whose components are ordinary reads, to the stage's buffer.
    Finish,
}

/// That an axis can run past its extent, and what happens then (see [the page](super)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pred {
    /// The axis: inexact, or bound to more threads than it has values.
    pub axis: AxisId,
    /// [`Tail::RoundUp`]: an update's reads are filled. Otherwise it takes the identity.
    pub tail: Tail,
}

/// A reduction across invocations. Those that differ only in the axes of `over` are a *team*: `dst = combine of the team's
/// src`, the same in each of them. In lanes it is one reduction for each.
///
/// In loops over the sides of matrices, it combines the elements of each row: `over` is the axis of columns, and `dst` has the rows alone. By
/// [`How::Tree`] each lane combines some rows in shared memory.
///
/// By [`How::Atomic`], each invocation takes its state into a place in device memory, `dst = combine(dst, src)`, which
/// an earlier dispatch has filled with the identity. Then the result is there, and no invocation has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllReduce {
    /// Whose monoid.
    pub stage: StageId,
    /// Who takes part: a `Subgroup` (all axes of `over` are bound to its lanes, or are a side of its matrices), a `Workgroup`, or the `Device` (by atomics).
    pub scope: Scope,
    /// How.
    pub how: How,
    /// The partial states: registers, one place for each component.
    pub src: Vec<Access>,
    /// The results: registers; of atomics, device memory.
    pub dst: Vec<Access>,
    /// The axes bound to invocations (of atomics: and to workgroups) that are thereby reduced.
    pub over: Vec<AxisId>,
    /// Of atomics: what can run past its extent here, where nothing is written.
    pub preds: Vec<Pred>,
    /// Of rows of matrices, by a tree: where in shared memory their elements lie. `None`: in memory of its own.
    pub scratch: Option<Scratch>,
}

/// A shared buffer over whose elements those of a matrix lie while nobody needs it: element (r, c) of subgroup s is element
/// `s part + r row + c column`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// The buffer.
    pub buffer: BufferId,
    /// From a subgroup's first element to the next one's.
    pub part: i64,
    /// From row to row.
    pub row: i64,
    /// From column to column.
    pub column: i64,
}

/// How a reduction across invocations is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// Subgroup arithmetic, or shuffles (and, if the scope is a workgroup, the states of subgroups through shared memory).
    Subgroup,
    /// A tree in shared memory, of one state an invocation, with barriers of its own.
    Tree,
    /// Atomics on the destination, in device memory.
    Atomic,
    /// The elements of a matrix's rows, by one instruction.
    Matrix,
}

impl Node {
    /// A node made by the directive at `span`.
    pub fn new(kind: NodeKind, span: SpanId) -> Node {
        Node { kind, span }
    }

    /// A barrier.
    pub fn barrier(scope: Scope, span: SpanId) -> Node {
        Node::new(NodeKind::Barrier { scope }, span)
    }

    /// The buffers that it writes itself.
    pub fn writes(&self) -> Vec<BufferId> {
        let places = |places: &[Access]| places.iter().map(|p| p.buffer).collect();
        match &self.kind {
            NodeKind::Compute(c) => places(c.written()),
            NodeKind::AllReduce(c) => places(&c.dst),
            NodeKind::Loop(_) | NodeKind::Alloc { .. } | NodeKind::Barrier { .. } | NodeKind::Branch { .. } => Vec::new(),
        }
    }

    /// Its predicates.
    pub fn preds(&self) -> &[Pred] {
        match &self.kind {
            NodeKind::Compute(compute) => &compute.preds,
            NodeKind::AllReduce(reduction) => &reduction.preds,
            _ => &[],
        }
    }

    /// The blocks inside it.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        let (first, second) = match &self.kind {
            NodeKind::Loop(l) => (Some(&l.body), None),
            NodeKind::Alloc { body, .. } => (Some(body), None),
            NodeKind::Branch { then, other, .. } => (Some(then), Some(other)),
            _ => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// The blocks inside it, to be changed.
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
