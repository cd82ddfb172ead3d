//! The nest: a kernel as loops over axes, from the first naive form to the last before SPIR-V.
//!
//! # The way
//! [`crate::algorithm`] makes a [`Program`] of pure stages with an empty plan; [`naive`](build) gives every stage that
//! is not inlined a dispatch with a perfect nest around one [`Phase::Whole`] compute; the directives
//! ([`crate::schedule`]) rewrite that; [`crate::lower`] turns `Whole` into init, update and finish, and copies into loops;
//! [`crate::verify`] checks any of these forms; the backend emits the last.
//!
//! # Axes
//! A stage is written on its *root* axes: one for every dimension of its output, one for every range of its reduction.
//! An axis's value lies in `0..extent`. Directives never rename an axis inside an expression: they *consume* it
//! ([`Fate`]) and make others. An expression's `Axis(a)` means
//! - the loop's value, where a loop around it binds `a`;
//! - else, by `a`'s fate: of a split axis, the sum of its parts, each times the product of the later parts' extents (where the
//!   last tile is moved back, [`Tail::Shift`] says what); of a fused axis, its digit of the fused one's value
//!   (`into / (product of later extents) % own extent`, where the first needs no `%`).
//!
//! So an axis is not a loop: after lowering, one axis can be bound by three loops (of init, update and finish).
//! An axis of extent 1 can be bound by none: its value is 0.
//!
//! # Predicates
//! A split whose factors do not provably divide runs past its axis's extent. Such an axis is *inexact*
//! ([`Split::exact`] is false), and each [`Compute`] below it lists it in `preds`. A [`Pred`] on axis `a` means, at every
//! point where `value(a) >= extent(a)`:
//! - in every read and every index of the compute, `a` counts as `extent(a) - 1` (the *clamped* value; what `a` is made
//!   of is clamped first where it is itself in `preds`), so no read leaves its buffer;
//! - where an extent names an inexact axis (`j in 0..i + 1`), that counts as clamped too, in loops and in predicates, with
//!   everything that it is made of: past the end of `i`, a loop over `j` runs as at the last `i`;
//! - a write to global or shared memory does not happen;
//! - an update takes the monoid's identity instead of its item, if `a` belongs to the reduction. (For a parallel axis it
//!   does not matter what the accumulator holds: its finish is predicated.)
//! - with [`Tail::RoundUp`] on a reduction's axis, instead of the last: every read that depends on `a` gives 0. The
//!   directive has proved that the item is then the identity.
//!
//! An axis whose extent is 0 has no value to clamp to. Its loops run no iteration, and a dispatch with an empty grid is not
//! run; where they run all the same (a hull of `0..i` where `i` is 0), the backend runs the compute where its predicates
//! hold, and nowhere else.
//!
//! An axis bound to threads whose extent is less than the slot's local size is also listed in `preds` of everything
//! under its loop: the inactive invocations are those out of range.
//!
//! # Memory
//! A [`NodeKind::Alloc`] gives a buffer its life: everything that touches a shared, register or fragment buffer stands in its
//! body. `Register` memory is private to an invocation, and one element a constant index: after unrolling, an index may
//! name only unrolled axes, lanes, and axes bound to subgroups, lanes or threads. The latter tell which invocation owns
//! the element and take no part in the address: reader and writer must be the same invocation. A dimension that is
//! indexed by such an *owner* is indexed by it alone, and takes no room. The same holds for `Fragment` memory and axes
//! bound to subgroups. A parallel axis that is bound within the buffer's life must own a dimension of it; one that is
//! bound outside need not. While directives are applied, registers that invocations have between them
//! ([`Program::dealt`]) are one box, without dimensions for owners; these are made when all stages have their loops.
//!
//! Two axes bound to the same level and slot have the same value in the same invocation, whatever their names.
//!
//! Every shared buffer of a dispatch has bytes of its own, and so has every [`AllReduce`] that needs some.
//!
//! # Stages within stages
//! [`Program::hosts`] lists the stages that stand within the nest of another one. A promoted tensor's copy is such a stage
//! ([`Body::Map`] on [`AxisDef::Made`] axes, [`Phase::Whole`]) whose buffer is the copy; where a result is promoted, it is the
//! one that writes it back, and the host writes the copy. A stage that is computed at a loop of another shares that loop's axis:
//! its own root's [`Fate`] is a split whose parts are the other's axis and its own, so that one axis can be a part of several.
//! [`Program::placed`] says which element of the algorithm's stage each of its elements is.
//!
//! A stage is what the algorithm says, in every form of a nest. What a reduction stores besides its state may read copies, as its
//! items may: before lowering that is its compute's [`Compute::finish`].
//!
//! # Barriers
//! A [`NodeKind::Barrier`] orders the accesses of the invocations of a workgroup, or of a subgroup, to the memory that they share. It has two
//! parts ([`Part`]), which may be nodes of their own: an invocation *arrives*, and later *waits* until all have arrived. What each has done
//! before it arrives comes before what all do after they have waited; what stands between the parts comes in no order with either, nor with
//! what others do between them. Each arrive has one wait on every path behind it, and each wait one arrive before it; the next arrive of that
//! scope comes behind the wait. So what goes through an iteration of a loop has as many arrives as waits, but the one of an iteration may be
//! waited for in the next.
//!
//! Devices without split barriers run a whole one somewhere between the two, which orders all that the parts do, and more
//! ([`Dispatch::with_whole_barriers`]).
//!
//! # Pipelines
//! [`Program::pipelines`] lists shared copies that are made ahead of the steps that read them; the steps are the iterations of a serial
//! loop. Until lowering, such a copy stands where its directive has put it, within that loop. Then its life is around the loop, which it
//! outlasts, and what was one nest is two: one *fetches* into registers (a stage of its own, [`Made::registers`]), the other *stores* those.
//! (Without registers there is one, which copies.) What is fetched is that of another step: an axis of its own ([`Made::step`]) counts it, as
//! long as the loop's, bound by loops of one iteration ([`Exec::Step`]):
//! - before the pipelined loop, of its first iterations. Without any, nothing is fetched;
//! - within it, of one that comes later. Past the last one, that one again: what is fetched and stored then, nobody reads.
//!
//! The stages of both say what the copy holds: the first one on the step's axis, the second one on the loop's. Of several buffers
//! ([`Buffer::versions`]), the one of a step is that of the step's number.

mod axis;
mod bounds;
pub mod build;
mod ends;
pub mod fill;
pub mod known;
mod local_bytes;
mod monoid;
mod node;
pub mod path;
mod pipelined;
mod places;
pub(crate) mod points;
mod predicates;
pub mod print;
pub mod walk;
mod whole;

pub use crate::ids::{AxisId, BufferId, DimId, ScalarId, StageId};
pub use axis::{Axis, AxisDef, AxisKind, Fate, Split, Tail};
pub use bounds::Bound;
pub use node::{
    Access, AllReduce, Block, Compute, Copy, Dispatch, Exec, How, Level, Loop, Node, NodeKind, Part, Phase, Pred, Scope, Scratch,
    Side, Slot, Step,
};
pub use pipelined::{Made, Pipelined, Place, Point};
pub use places::Places;

use crate::arena::Arena;
use crate::diag::SpanId;
use crate::expr::{Const, ExprId, Exprs, Read};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_launch::{DType, Layout, Limit, Relation};

/// A kernel with concrete dtypes and parameters, as far as it is scheduled and lowered.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// Every expression.
    pub exprs: Exprs,
    /// Symbolic and derived dims; a derived one names only earlier ones. Parameters, and dims that a fact equates with
    /// a literal, are literals in every expression.
    pub dims: Arena<DimId, Dim>,
    /// Scalar arguments.
    pub scalars: Arena<ScalarId, Scalar>,
    /// Every axis that was ever made.
    pub axes: Arena<AxisId, Axis>,
    /// Tensors, temporaries, local buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// The stages in order of definition.
    pub stages: Arena<StageId, Stage>,
    /// The kernel's arguments in order.
    pub arguments: Vec<Argument>,
    /// Outputs in the kernel's order (updates are arguments).
    pub outputs: Vec<BufferId>,
    /// Parameters and their values.
    pub parameters: Vec<(String, i64)>,
    /// What lies packed in memory.
    pub packed: Vec<Packed>,
    /// Tensors of the launch that may have gaps between their elements.
    pub strided: Vec<Strided>,
    /// What was computed when an input was prepared.
    pub prepared: Vec<Prepared>,
    /// Symbolic dims that are specialization constants of the words.
    pub pinned: Vec<DimId>,
    /// What a dispatch only reads is not marked so (`emit(readonly: no)`).
    pub unmarked: bool,
    /// The schedule's tuned constants.
    pub tuned: Vec<Tuned>,
    /// What the kernel states and needs, what the schedule's head states, and what the launch checks because a directive asked for it.
    pub conditions: Vec<Condition>,
    /// The same of scalars.
    pub bounds: Vec<Bound>,
    /// Indices that the kernel's reductions compare, which 32 bits must hold. The launch checks them.
    pub limits: Vec<Limit>,
    /// Tensors that the kernel or the schedule's head says hold neither infinities nor NaN.
    pub finite: Vec<BufferId>,
    /// The stages that are computed within the nest of another one: copies, and what is placed at a loop.
    pub hosts: BTreeMap<StageId, StageId>,
    /// The stages that `compute_at` placed, each with the element of the algorithm's stage that its own element is: a read of that stage's
    /// buffer, whose indices name the placed stage's axes and the host's.
    pub placed: BTreeMap<StageId, ExprId>,
    /// Registers that the invocations of a workgroup have between them: dimensions of them belong to axes that are bound to those.
    pub dealt: BTreeSet<BufferId>,
    /// The reductions' axes that are bound to workgroups or invocations: how their parts become one.
    pub strategies: BTreeMap<AxisId, How>,
    /// Axes bound to workgroups that are counted downwards: their last value is that of the first workgroup.
    pub down: BTreeSet<AxisId>,
    /// Axes of reductions past whose ends the items are the identity by themselves, once the stages that they read are computed there.
    pub neutral: BTreeSet<AxisId>,
    /// Online reductions over blocks of items, that stages within their nests compute.
    pub running: Vec<Running>,
    /// Axes of which each value has an expression of its own, as the rows of a transform: the heuristic schedule writes them out.
    pub rows: Vec<AxisId>,
    /// Stages that are parts of another one now: their names, and its.
    pub merged: Vec<(String, String)>,
    /// Shared copies that are made ahead of the steps that read them.
    pub pipelines: Vec<Pipelined>,
    /// The dispatches, in order. Empty: not yet scheduled.
    pub plan: Vec<Dispatch>,
    /// Every obligation that came up, and what became of it.
    pub ledger: Vec<Obligation>,
    /// What decompositions are expected to make of their results.
    pub rounding: Vec<Rounding>,
    /// Whether it is a version for more facts than the schedule was written for.
    pub specialized: bool,
    /// Which reads the kernel clamps.
    pub clamps: Clamps,
    /// Where the nodes of the last form come from in the user's files, as far as that is known.
    pub places: Places,
}

/// Which clamps of reads are the kernel's own. The compiler clamps others: reads that an `if` keeps inside, and those past a tail's end.
#[derive(Clone, Debug, Default)]
pub struct Clamps {
    /// Tensors that the kernel reads by `.clamp()`.
    pub written: BTreeSet<BufferId>,
    /// Reads without it that are clamped.
    pub guarded: BTreeSet<ExprId>,
}

/// An online reduction over blocks of items: its state is a maximum, and sums below it; so are its items, one block's. These may
/// go on from the state ([`Phase::Resume`]).
#[derive(Clone, Debug)]
pub struct Running {
    /// What it defines.
    pub target: BufferId,
    /// The state below the maximum of an item that is no less than its own: over [`crate::expr::Expr::State`], and
    /// [`crate::expr::Expr::Item`] of the maximum.
    pub below: Vec<ExprId>,
}

/// How a decomposed result rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Its name.
    pub result: String,
    /// The expected error, relative to the result: roots of mean squares.
    pub expected: f64,
    /// The largest possible error, relative to the largest input times the largest weight times the number of products.
    pub worst: f64,
}

/// A dim.
#[derive(Clone, Debug)]
pub struct Dim {
    /// Its name.
    pub name: String,
    /// The value of a derived dim; `None`: symbolic, known at launch, at least 0.
    pub derived: Option<ExprId>,
    /// Where it is declared.
    pub span: SpanId,
}

/// A scalar argument.
#[derive(Clone, Debug)]
pub struct Scalar {
    /// Its name.
    pub name: String,
    /// Its type.
    pub dtype: DType,
}

/// A buffer that is a tensor in another layout: its shape is that in memory.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The buffer.
    pub buffer: BufferId,
    /// The row-major buffer that it is a copy of, or that is a copy of it; `None`: it is the tensor itself.
    pub of: Option<BufferId>,
    /// Names of the tensor's indices.
    pub axes: Vec<String>,
    /// The tensor's shape.
    pub shape: Vec<ExprId>,
    /// Where its elements are.
    pub layout: Layout,
    /// What the memory beyond them holds: a literal.
    pub fill: ExprId,
    /// By which statement.
    pub span: SpanId,
}

/// A tensor of the launch whose elements lie as those of a view do.
#[derive(Clone, Debug)]
pub struct Strided {
    /// The buffer.
    pub buffer: BufferId,
    /// By how many elements each dimension steps in memory, over dims. One that is free is a dim of its own.
    pub strides: Vec<ExprId>,
    /// Those that are.
    pub free: Vec<DimId>,
    /// By which statement.
    pub span: SpanId,
}

impl Strided {
    /// The name of the dim that a stride is, as facts write it.
    pub fn dim(tensor: &str, axis: usize) -> String {
        format!("{tensor}.stride({axis})")
    }
}

/// A buffer that the launch reads, and that was computed of an input when that was prepared.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The buffer, which no stage of the program defines.
    pub buffer: BufferId,
    /// The input.
    pub of: BufferId,
}

/// A tuned constant of the schedule, as directives see it.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Its name.
    pub name: String,
    /// What it is in this program.
    pub value: i64,
    /// What it could be.
    pub candidates: Vec<i64>,
    /// Whether a number named it.
    pub used: bool,
    /// Where it is declared.
    pub span: SpanId,
}

/// An argument of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An input, or a tensor that is updated in place.
    Tensor(BufferId),
    /// A scalar.
    Scalar(ScalarId),
    /// The value of a symbolic dim.
    Dim(DimId),
}

/// A buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// The element type.
    pub dtype: DType,
    /// Elements per dimension, outermost first; of local buffers, literals. None: it has one element.
    pub shape: Vec<ExprId>,
    /// Where it lives.
    pub space: Space,
    /// Elements by which each row (the innermost dimension) of a local buffer is longer than its shape says.
    pub row_pad: u32,
    /// If above 0: the elements of a shared buffer's rows lie in groups of so many, and those of row `r` are permuted: group
    /// `g` lies where group `g ^ (r % m)` would, where `m` is the largest power of two that divides the groups of a row.
    pub swizzle: u32,
    /// Copies of a local buffer for multi-buffering. If more than 1, accesses carry the version as an extra first index,
    /// taken modulo this.
    pub versions: u32,
    /// Where it is declared.
    pub span: SpanId,
}

/// Where a buffer lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device memory: the caller's, read only.
    Input,
    /// Device memory: the caller's, updated in place.
    Update,
    /// Device memory: written.
    Output,
    /// Device memory that lives for one launch.
    Temporary,
    /// Known at compile time, row-major.
    Constant(Vec<Const>),
    /// A workgroup's.
    Shared,
    /// An invocation's.
    Register,
    /// A subgroup's cooperative matrices. The buffer's last two dimensions are the elements of all matrices, tiled by
    /// `rows x columns`. They are touched in loops over two sides ([`Exec::Matrix`]), the same ones everywhere: rows and columns of an
    /// accumulator; rows and depth, or depth and columns, of a factor.
    Fragment {
        /// Rows of one matrix.
        rows: u32,
        /// Columns of one matrix.
        columns: u32,
        /// Whether all columns of a matrix are one. Then the last dimension is its rows, which a loop over rows alone touches.
        spread: bool,
    },
}

impl Space {
    /// Whether it is device memory.
    pub fn is_global(&self) -> bool {
        matches!(self, Space::Input | Space::Update | Space::Output | Space::Temporary)
    }
}

/// A stage: the values of one buffer at every point of its axes.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The name of what it defines.
    pub name: String,
    /// What it defines; indexed by exactly `axes`, in order.
    pub buffer: BufferId,
    /// Its parallel root axes, one for each dimension of `buffer`.
    pub axes: Vec<AxisId>,
    /// What it computes.
    pub body: Body,
    /// What else a reduction stores, and where: the other components of its state. Indexed as `buffer` is.
    pub also: Vec<(BufferId, ExprId)>,
    /// The definition.
    pub span: SpanId,
}

/// What a stage computes at a point.
#[derive(Clone, Debug)]
pub enum Body {
    /// A value.
    Map(ExprId),
    /// A reduction.
    Reduce {
        /// How items combine.
        monoid: Monoid,
        /// The root axes that it runs over.
        over: Vec<AxisId>,
        /// The item at a point, one value for each component of the state.
        lift: Vec<ExprId>,
        /// What is stored, over [`crate::expr::Expr::State`] and the parallel axes.
        finish: ExprId,
    },
}

impl Stage {
    /// The expressions of what it computes.
    pub fn values(&self) -> Vec<ExprId> {
        let own: Vec<ExprId> = match &self.body {
            Body::Map(value) => vec![*value],
            Body::Reduce { lift, finish, .. } => lift.iter().chain([finish]).copied().collect(),
        };
        own.into_iter().chain(self.also.iter().map(|(_, value)| *value)).collect()
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> Vec<&mut ExprId> {
        let own: Vec<&mut ExprId> = match &mut self.body {
            Body::Map(value) => vec![value],
            Body::Reduce { lift, finish, .. } => lift.iter_mut().chain([finish]).collect(),
        };
        own.into_iter().chain(self.also.iter_mut().map(|(_, value)| value)).collect()
    }

    /// The values that it stores, over its parallel axes alone, to be changed.
    pub fn stored_mut(&mut self) -> impl Iterator<Item = &mut ExprId> {
        let (Body::Map(own) | Body::Reduce { finish: own, .. }) = &mut self.body;
        std::iter::once(own).chain(self.also.iter_mut().map(|(_, value)| value))
    }
}

/// An associative and commutative operation with an identity. The state can be a tuple (argmax: value and index).
#[derive(Clone, Debug)]
pub struct Monoid {
    /// The user's name for it: `sum`, `argmax`.
    pub name: String,
    /// The identity, whose types are the state's: literals.
    pub identity: Vec<ExprId>,
    /// The new state over `State(n)` and `Item(n)`.
    pub combine: Vec<ExprId>,
}

/// Something that the prover may use.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The left side, over dims.
    pub left: ExprId,
    /// How the sides compare.
    pub relation: Relation,
    /// The right side, over dims.
    pub right: ExprId,
    /// As the user wrote it.
    pub text: String,
    /// Where.
    pub span: SpanId,
    /// Whether the algorithm needs it, under whatever schedule: where it does not hold, there is no launch at all.
    pub needed: bool,
}

/// Something that must hold for a variant to be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// What must hold, in one line.
    pub what: String,
    /// What became of it.
    pub state: State,
    /// The directive or expression that raised it.
    pub span: SpanId,
}

/// What became of an obligation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It holds for all sizes that the facts admit.
    Proved,
    /// Predicates make it hold.
    Guarded,
    /// The launch refuses sizes for which it does not hold.
    CheckedAtLaunch,
    /// The user said so.
    Assumed,
    /// A property of the variant that is not an obligation: the length of its chains of additions.
    Stated,
}

impl Stage {
    /// What it writes: the buffer, and those of the other components of a reduction's state.
    pub fn buffers(&self) -> Vec<BufferId> {
        [self.buffer].into_iter().chain(self.also.iter().map(|(buffer, _)| *buffer)).collect()
    }

    /// Whether this is a copy's stage: on axes that no algorithm knows.
    pub fn is_copy(&self, program: &Program) -> bool {
        matches!(self.body, Body::Map(_)) && self.axes.iter().all(|a| program.axes[*a].def == AxisDef::Made)
    }
}

impl Program {
    /// Notes an obligation, once.
    pub fn owe(&mut self, what: impl Into<String>, state: State, span: SpanId) {
        let obligation = Obligation { what: what.into(), state, span };
        if !self.ledger.contains(&obligation) {
            self.ledger.push(obligation);
        }
    }

    /// What is packed of a tensor of the launch, which is itself packed.
    pub fn packed(&self, buffer: BufferId) -> Option<&Packed> {
        self.packed.iter().find(|p| p.buffer == buffer && p.of.is_none())
    }

    /// By how many elements each dimension of a buffer steps in memory; `None`: it has no gaps.
    pub fn strides(&self, buffer: BufferId) -> Option<&[ExprId]> {
        self.strided.iter().find(|s| s.buffer == buffer).map(|s| s.strides.as_slice())
    }

    /// The indices of a read, each with the extent of its dimension. A version, which comes first, has none.
    pub fn dimensions<'p>(&'p self, read: &'p Read) -> impl Iterator<Item = (ExprId, ExprId)> + 'p {
        let shape = &self.buffers[read.buffer].shape;
        let versions = read.index.len().saturating_sub(shape.len());
        read.index.iter().skip(versions).copied().zip(shape.iter().copied())
    }

    /// The stage that defines a buffer.
    pub fn definition(&self, buffer: BufferId) -> Option<StageId> {
        let defines = |s: &Stage| s.buffer == buffer || s.also.iter().any(|(b, _)| *b == buffer);
        self.stages.iter().find(|(_, s)| defines(s)).map(|(id, _)| id)
    }
}
