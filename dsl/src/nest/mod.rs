//! The nest: a kernel as loops over axes, from the first naive form to the last before SPIR-V.
//!
//! # From kernel to SPIR-V
//! [`crate::algorithm`] makes a [`Program`] of pure stages with an empty plan. [`naive`](build) gives every stage that is not
//! inlined a dispatch with a perfect nest around one [`Phase::Whole`] compute. The directives ([`crate::schedule`]) rewrite
//! these nests. [`crate::lower`] turns `Whole` into init, update and finish, and copies into loops. [`crate::verify`] checks
//! any of these forms, and the backend emits the last one.
//!
//! # Axes
//! A stage is written on its *root* axes: one for every dimension of its output, and one for every range of its reduction. The
//! value of an axis is in `0..extent`. Directives never rename an axis inside an expression: they *consume* it ([`Fate`]) and
//! make other axes from it. An expression's `Axis(a)` means
//! - the loop's value, if an enclosing loop binds `a`;
//! - otherwise a value that follows from the fate of `a`. A split axis is the sum of its parts, each times the product of the
//!   later parts' extents (if the last tile is moved back, see [`Tail::Shift`]). A fused axis is its component of the fused
//!   axis's value, as in a mixed-radix number: `into / (product of later extents) % own extent`. The first component needs no
//!   `%`.
//!
//! An axis is therefore not a loop: after lowering, three loops (of init, update and finish) can bind one axis. An axis of
//! extent 1 does not need a loop: its value is 0.
//!
//! # Predicates
//! A split whose factors do not provably divide the extent runs past it. Such an axis is *inexact* ([`Split::exact`] is false),
//! and each [`Compute`] in its loop lists it in `preds`. A [`Pred`] on axis `a` means, at every point where
//! `value(a) >= extent(a)`:
//! - Every read and every index of the compute uses `extent(a) - 1` for `a` (the *clamped* value), so no read is out of bounds.
//!   If the axes that make up `a` are in `preds` themselves, they are clamped first.
//! - If an extent names an inexact axis (`j in 0..i + 1`), that axis is clamped there too, with everything that makes it up,
//!   both in loops and in predicates. For example, past the end of `i`, a loop over `j` runs as for the last `i`.
//! - A write to global or shared memory does not happen.
//! - An update takes the monoid's identity instead of its item, if `a` is a reduction axis. (For a parallel axis, the
//!   accumulator may hold any value, because its finish is predicated.)
//! - With [`Tail::RoundUp`] on a reduction axis, the previous rule is replaced: every read that depends on `a` gives 0. The
//!   directive has proved that the item is then the identity.
//!
//! An axis of extent 0 does not have a value to clamp to. Its loops have no iterations, and a dispatch with an empty grid is not run. If
//! they run nevertheless (for example a hull of `0..i` where `i` is 0), the backend runs the compute only where its predicates
//! hold.
//!
//! If an axis bound to threads has a smaller extent than its slot's local size, it is also listed in the `preds` of everything
//! in its loop: the inactive invocations are those that are out of range.
//!
//! # Memory
//! A [`NodeKind::Alloc`] is the scope of a buffer: every access to a shared, register or fragment buffer is nested in its body.
//! `Register` memory is private to an invocation, and each element has a constant index. After unrolling, an index may
//! therefore name only unrolled axes, lanes, and axes bound to subgroups, lanes or threads. The bound axes say which invocation
//! owns the element, and are not part of the address: the reader and the writer must be the same invocation. A dimension that
//! is indexed by such an *owner* must be indexed by the owner alone, and takes up no space. The same holds for `Fragment` memory and
//! axes bound to subgroups. A parallel axis that is bound within the buffer's scope must own one of its dimensions; an axis
//! that is bound outside need not. While directives are applied, registers that are distributed across invocations
//! ([`Notes::dealt`]) are one box, without dimensions for owners. These dimensions are added when all stages have their
//! loops.
//!
//! Two axes bound to the same level and slot have the same value in the same invocation, even if their names differ.
//!
//! Every shared buffer of a dispatch has its own bytes, and so has every [`AllReduce`] that needs shared memory.
//!
//! # Stages within stages
//! [`Notes::hosts`] lists the stages that are computed within the nest of another stage, their host. The copy of a promoted
//! tensor is such a stage ([`Body::Map`] on [`AxisDef::Made`] axes, [`Phase::Whole`]), whose buffer is the copy. If a result is
//! promoted, the host writes the copy, and the copy's stage writes the result back. A stage that is computed at a loop of its
//! host shares that loop's axis: the [`Fate`] of its own root is a split whose parts are the host's axis and its own, so that
//! one axis can be a part of several axes. [`Notes::placed`] maps each element of such a stage to an element of the
//! algorithm's stage.
//!
//! In every form of a nest, a stage is the algorithm's stage. The values that a reduction stores besides its state may read
//! copies, as its items may: before lowering, such a value is its compute's [`Compute::finish`].
//!
//! # Barriers
//! A [`NodeKind::Barrier`] orders the accesses to shared memory by the invocations of a workgroup or of a subgroup: everything that
//! each invocation has done before the barrier happens before everything that all of them do after it.
//!
//! # Pipelines
//! [`Notes::pipelines`] lists shared copies that are prefetched for later steps. The steps are the iterations of a serial
//! loop. Until lowering, such a copy is placed within that loop, as its directive says. Lowering moves the scope of its buffer
//! around the loop, because the contents outlive an iteration, and turns its nest into two: one *fetches* into registers (a
//! stage of its own, [`Made::registers`]), and the other *stores* these registers. (Without registers there is one nest, which
//! copies.) The elements fetched are for another step. An axis of its own ([`Made::step`]) counts this step. It has the extent
//! of the loop's axis, and is bound by loops of one iteration ([`Exec::Step`]):
//! - before the pipelined loop, for its first iterations. If the loop has none, there is no fetch;
//! - within it, for a later iteration. Past the last one, the last one is fetched again: these elements are stored but never read.
//!
//! The two stages describe the contents of the copy: the first on the step's axis, the second on the loop's axis. If there are
//! several buffers ([`Buffer::versions`]), the buffer of a step is chosen by the step's number.

mod accumulated;
mod axis;
mod bounds;
pub mod build;
mod ends;
pub mod fill;
pub mod known;
pub mod local_bytes;
pub mod meaning;
mod monoid;
mod node;
pub mod overlay;
pub mod path;
mod pipelined;
mod places;
pub(crate) mod points;
mod predicates;
pub mod print;
pub mod walk;
mod writers;

pub use crate::ids::{AxisId, BufferId, DimId, ScalarId, StageId};
pub use accumulated::Accumulated;
pub use axis::{Axis, AxisDef, AxisKind, Fate, Split, Tail};
pub use bounds::Bound;
pub use node::{
    Access, Accessed, Accessor, AllReduce, Block, Compute, Dispatch, Exec, How, Level, Loop, Node, NodeKind, Phase, Pred, Scope,
    Scratch, Side, Slot, Step,
};
pub use pipelined::{Made, Pipelined, Point, StepPlace};
pub use places::Places;

use crate::arena::Arena;
use crate::diag::SpanId;
use crate::expr::{Const, ExprId, Exprs, Read};
use std::collections::{BTreeMap, BTreeSet};
use tilewright_launch::{DType, Layout, Limit, Relation};

/// A kernel with concrete dtypes and parameters, at any stage of scheduling and lowering.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The kernel's name.
    pub name: String,
    /// All expressions.
    pub exprs: Exprs,
    /// Symbolic and derived dims; a derived one names only earlier ones. Parameters, and dims that a fact equates with
    /// a literal, are literals in every expression.
    pub dims: Arena<DimId, Dim>,
    /// Scalar arguments.
    pub scalars: Arena<ScalarId, Scalar>,
    /// Every axis that was ever made.
    pub axes: Arena<AxisId, Axis>,
    /// Tensors, temporaries and local buffers.
    pub buffers: Arena<BufferId, Buffer>,
    /// The stages in order of definition.
    pub stages: Arena<StageId, Stage>,
    /// The kernel's arguments in order.
    pub arguments: Vec<Argument>,
    /// Outputs in the kernel's order (updates are arguments).
    pub outputs: Vec<BufferId>,
    /// Parameters and their values.
    pub parameters: Vec<(String, i64)>,
    /// The dispatches, in order. Empty if the program is not yet scheduled.
    pub plan: Vec<Dispatch>,
    /// True for a version that is specialized for more facts than the schedule was written for.
    pub specialized: bool,
    /// The reads that the kernel clamps.
    pub clamps: Clamps,
    /// The statements about the whole variant, such as `pack` and `pin`, and their effects.
    pub statements: Statements,
    /// The conditions that a launch checks, and those that the user promises.
    pub checks: Checks,
    /// The properties of axes, buffers and stages that directives and lowering set.
    pub notes: Notes,
    /// The parts that only the user reads.
    pub report: Report,
}

/// The statements about the whole variant, such as `pack` and `pin`, and their effects.
#[derive(Clone, Debug, Default)]
pub struct Statements {
    /// Buffers that are packed in memory.
    pub packed: Vec<Packed>,
    /// Tensors of the launch that may have gaps between their elements.
    pub strided: Vec<Strided>,
    /// Buffers whose contents were computed when an input was prepared.
    pub prepared: Vec<Prepared>,
    /// Symbolic dims that are specialization constants of the SPIR-V module.
    pub pinned: Vec<DimId>,
    /// True if buffers that a dispatch only reads are not marked as read-only (`emit(readonly: no)`).
    pub unmarked: bool,
    /// The schedule's tuned constants.
    pub tuned: Vec<Tuned>,
}

/// The conditions that a launch checks, and those that the user promises.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// The conditions that the kernel states and needs, those in the schedule's header, and those that the launch checks because a
    /// directive asked for it.
    pub conditions: Vec<Condition>,
    /// Conditions on scalars, from the same sources.
    pub bounds: Vec<Bound>,
    /// Indices that the kernel's reductions compare, which must fit in 32 bits. The launch checks them.
    pub limits: Vec<Limit>,
    /// Tensors that contain neither infinities nor NaN, as the kernel or the schedule's header says.
    pub finite: Vec<BufferId>,
}

/// The properties of axes, buffers and stages that directives set.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// The stages that are computed within the nest of another stage: copies, and stages that are placed at a loop.
    pub hosts: BTreeMap<StageId, StageId>,
    /// The stages that `compute_at` placed. Each maps its own element to an element of the algorithm's stage: a read of that
    /// stage's buffer, whose indices name the axes of the placed stage and of the host.
    pub placed: BTreeMap<StageId, ExprId>,
    /// Registers that are distributed across the invocations of a workgroup: some dimensions belong to axes that are bound to
    /// invocations.
    pub dealt: BTreeSet<BufferId>,
    /// The reduction axes that are bound to workgroups or invocations, with how their partial results are combined.
    pub strategies: BTreeMap<AxisId, How>,
    /// The reductions that update one element of memory for each item, instead of comparing the item with every element. The index of this
    /// element depends on data. No loop binds the axes of such dimensions, which are listed with their directives, and another stage fills the
    /// memory before.
    pub scattered: BTreeMap<StageId, Vec<(AxisId, SpanId)>>,
    /// Axes bound to workgroups that are counted downwards: the first workgroup has their last value.
    pub down: BTreeSet<AxisId>,
    /// Reduction axes whose items are the identity past the end without predicates, once the stages that they read are computed there.
    pub neutral: BTreeSet<AxisId>,
    /// Online reductions over blocks of items, which stages within their nests compute.
    pub running: Vec<Running>,
    /// Axes whose values each have an expression of their own, like the rows of a transform: the plain schedule unrolls them.
    pub rows: Vec<AxisId>,
    /// The nests whose interior has a branch of its own (`border`).
    pub interiors: Vec<Interior>,
    /// Stages that were merged into another stage: their names, and the name of that stage.
    pub merged: Vec<(String, String)>,
    /// Shared copies that are prefetched for later steps.
    pub pipelines: Vec<Pipelined>,
    /// Shared buffers that use the same memory at different times, and the element at which each begins in the array of its dtype.
    pub overlaid: BTreeMap<BufferId, u32>,
    /// Reductions that are computed in another dtype than the algorithm's.
    pub accumulated: Vec<Accumulated>,
}

/// The parts that only the user reads.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Every obligation that was raised, and how it was met.
    pub ledger: Vec<Obligation>,
    /// The names of `let`s that no result depends on, which are not computed, and their places.
    pub unread: Vec<(String, SpanId)>,
    /// The expected rounding errors of decomposed results.
    pub rounding: Vec<Rounding>,
    /// The places in the user's files that the nodes of the last form come from, as far as they are known.
    pub places: Places,
}

/// The clamps of reads that are the kernel's own. The compiler clamps other reads: those that an `if` keeps in bounds, and
/// those past the end of a tail.
#[derive(Clone, Debug, Default)]
pub struct Clamps {
    /// Tensors that the kernel reads with `.clamp()`.
    pub written: BTreeSet<BufferId>,
    /// Clamped reads without `.clamp()`.
    pub guarded: BTreeSet<ExprId>,
}

/// A nest whose interior, in which no read along some axes is out of bounds, has a branch of its own.
#[derive(Clone, Debug)]
pub struct Interior {
    /// The stage of the nest.
    pub stage: StageId,
    /// The axes of the stage.
    pub axes: Vec<AxisId>,
    /// The place of the directive.
    pub span: SpanId,
}

/// An online reduction over blocks of items. Its state is a maximum and sums relative to that maximum. Its items have the same
/// form: each is the state of one block. An item may continue from the state ([`Phase::Resume`]).
#[derive(Clone, Debug)]
pub struct Running {
    /// The buffer that it defines.
    pub target: BufferId,
    /// The state relative to an item's maximum, if that is at least the state's own: over [`crate::expr::Expr::State`], and
    /// [`crate::expr::Expr::Item`] of the maximum.
    pub below: Vec<ExprId>,
}

/// The rounding error of a decomposed result.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounding {
    /// Its name.
    pub result: String,
    /// The expected error, relative to the result: a root mean square.
    pub expected: f64,
    /// The largest possible error, relative to the largest input times the largest weight times the number of products.
    pub worst: f64,
}

/// A dim.
#[derive(Clone, Debug)]
pub struct Dim {
    /// Its name.
    pub name: String,
    /// The value of a derived dim. `None` for a symbolic dim, which is known at launch and is at least 0.
    pub derived: Option<ExprId>,
    /// The place of its declaration.
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

/// A buffer that is a tensor in another layout. Its shape is the shape in memory.
#[derive(Clone, Debug)]
pub struct Packed {
    /// The buffer.
    pub buffer: BufferId,
    /// The row-major buffer that is copied to or from this one. `None` if this buffer is the tensor itself.
    pub of: Option<BufferId>,
    /// Names of the tensor's indices.
    pub axes: Vec<String>,
    /// The tensor's shape.
    pub shape: Vec<ExprId>,
    /// The places of its elements.
    pub layout: Layout,
    /// The contents of the memory outside of the elements: a literal.
    pub fill: ExprId,
    /// The statement that packs it.
    pub span: SpanId,
}

/// A tensor of the launch whose elements are laid out as in a view.
#[derive(Clone, Debug)]
pub struct Strided {
    /// The buffer.
    pub buffer: BufferId,
    /// The stride of each dimension in elements, over dims. A free stride is a dim of its own.
    pub strides: Vec<ExprId>,
    /// The free strides.
    pub free: Vec<DimId>,
    /// The statement that says so.
    pub span: SpanId,
}

impl Strided {
    /// Returns the name of the dim for a free stride, as facts write it.
    pub fn dim(tensor: &str, axis: usize) -> String {
        format!("{tensor}.stride({axis})")
    }
}

/// A buffer that the launch reads, and that was computed from an input when the input was prepared.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The buffer, which none of the program's stages defines.
    pub buffer: BufferId,
    /// The input.
    pub of: BufferId,
}

/// A tuned constant of the schedule, as directives see it.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Its name.
    pub name: String,
    /// Its value in this program.
    pub value: i64,
    /// All values that it may have.
    pub candidates: Vec<i64>,
    /// True if a number in the schedule has used it.
    pub used: bool,
    /// The place of its declaration.
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
    /// The extents, outermost first; literals for local buffers. If empty, the buffer has one element.
    pub shape: Vec<ExprId>,
    /// The memory that holds it.
    pub space: Space,
    /// The elements of padding after each row (the innermost dimension) of a local buffer.
    pub row_pad: u32,
    /// If above 0, the rows of a shared buffer are permuted in groups of this many elements: group `g` of row `r` is stored where
    /// group `g ^ (r % m)` would be, where `m` is the largest power of two that divides the number of groups in a row.
    pub swizzle: u32,
    /// Copies of a local buffer for multi-buffering. Only a lowered pipeline makes more than 1. Then accesses have the version as an
    /// additional first index, taken modulo this number.
    pub versions: u32,
    /// The place of its declaration.
    pub span: SpanId,
}

/// The memory that holds a buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Space {
    /// Device memory: the caller's, read-only.
    Input,
    /// Device memory: the caller's, updated in place.
    Update,
    /// Device memory: written.
    Output,
    /// Device memory whose contents last for one launch.
    Temporary,
    /// Known at compile time, row-major.
    Constant(Vec<Const>),
    /// Shared memory of a workgroup.
    Shared,
    /// Registers of an invocation.
    Register,
    /// Cooperative matrices of a subgroup. The buffer's last two dimensions are the elements of all matrices, tiled by
    /// `rows x columns`. They are accessed in loops over two sides ([`Exec::Matrix`]), which are the same everywhere: rows and
    /// columns for an accumulator; rows and depth, or depth and columns, for a factor.
    Fragment {
        /// Rows of one matrix.
        rows: u32,
        /// Columns of one matrix.
        columns: u32,
        /// True if all columns of a matrix are equal. Then the last dimension is the rows, and a loop over rows alone accesses it.
        spread: bool,
    },
}

impl Space {
    /// True for device memory.
    pub fn is_global(&self) -> bool {
        matches!(self, Space::Input | Space::Update | Space::Output | Space::Temporary)
    }
}

/// A stage: the values of one buffer at every point of its axes.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The name of the buffer that it defines.
    pub name: String,
    /// The buffer that it defines, indexed by exactly `axes`, in order.
    pub buffer: BufferId,
    /// Its parallel root axes, one for each dimension of `buffer`.
    pub axes: Vec<AxisId>,
    /// The values that it computes.
    pub body: Body,
    /// The other buffers that it defines, and the values stored there: tensors that are defined together with `buffer`, or the other components
    /// of a reduction's state. They are indexed as `buffer` is.
    pub also: Vec<(BufferId, ExprId)>,
    /// The definition.
    pub span: SpanId,
}

/// The value of a stage at a point.
#[derive(Clone, Debug)]
pub enum Body {
    /// A value.
    Map(ExprId),
    /// A reduction.
    Reduce {
        /// How items are combined.
        monoid: Monoid,
        /// The root axes that it runs over.
        over: Vec<AxisId>,
        /// The item at a point, one value for each component of the state.
        lift: Vec<ExprId>,
        /// The stored value, over [`crate::expr::Expr::State`] and the parallel axes.
        finish: ExprId,
    },
}

impl Stage {
    /// The expressions that it computes.
    pub fn values(&self) -> Vec<ExprId> {
        let own: Vec<ExprId> = match &self.body {
            Body::Map(value) => vec![*value],
            Body::Reduce { lift, finish, .. } => lift.iter().chain([finish]).copied().collect(),
        };
        own.into_iter().chain(self.also.iter().map(|(_, value)| *value)).collect()
    }

    /// The same expressions, mutable.
    pub fn values_mut(&mut self) -> Vec<&mut ExprId> {
        let own: Vec<&mut ExprId> = match &mut self.body {
            Body::Map(value) => vec![value],
            Body::Reduce { lift, finish, .. } => lift.iter_mut().chain([finish]).collect(),
        };
        own.into_iter().chain(self.also.iter_mut().map(|(_, value)| value)).collect()
    }

    /// The values that it stores, over its parallel axes alone.
    pub fn stored(&self) -> Vec<ExprId> {
        let (Body::Map(own) | Body::Reduce { finish: own, .. }) = &self.body;
        std::iter::once(*own).chain(self.also.iter().map(|(_, value)| *value)).collect()
    }

    /// The values that it stores, over its parallel axes alone, mutable.
    pub fn stored_mut(&mut self) -> impl Iterator<Item = &mut ExprId> {
        let (Body::Map(own) | Body::Reduce { finish: own, .. }) = &mut self.body;
        std::iter::once(own).chain(self.also.iter_mut().map(|(_, value)| value))
    }
}

/// An associative and commutative operation with an identity. The state can be a tuple (for argmax, value and index).
#[derive(Clone, Debug)]
pub struct Monoid {
    /// The user's name for the operation, for example `sum` or `argmax`.
    pub name: String,
    /// The identity: literals whose types are the state's.
    pub identity: Vec<ExprId>,
    /// The new state over `State(n)` and `Item(n)`.
    pub combine: Vec<ExprId>,
}

/// A condition that the prover may use.
#[derive(Clone, Debug)]
pub struct Condition {
    /// The left side, over dims.
    pub left: ExprId,
    /// How the sides compare.
    pub relation: Relation,
    /// The right side, over dims.
    pub right: ExprId,
    /// The condition as the user wrote it.
    pub text: String,
    /// The place in the user's file.
    pub span: SpanId,
    /// True if the algorithm needs the condition under every schedule: if it does not hold, the kernel cannot be launched.
    pub needed: bool,
}

/// A condition under which a variant is correct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obligation {
    /// The condition, in one line.
    pub what: String,
    /// How it was met.
    pub state: State,
    /// The directive or expression that raised it.
    pub span: SpanId,
}

/// How an obligation was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It holds for all sizes that the facts admit.
    Proved,
    /// Predicates make it hold.
    Guarded,
    /// The launch refuses sizes for which it does not hold.
    CheckedAtLaunch,
    /// The user stated it.
    Assumed,
    /// Not an obligation but a property of the variant: the length of its chains of additions.
    Stated,
}

impl Stage {
    /// Returns the buffers that it defines.
    pub fn buffers(&self) -> Vec<BufferId> {
        [self.buffer].into_iter().chain(self.also.iter().map(|(buffer, _)| *buffer)).collect()
    }

    /// True for the stage of a copy: its axes do not come from the algorithm.
    pub fn is_copy(&self, program: &Program) -> bool {
        matches!(self.body, Body::Map(_)) && self.axes.iter().all(|a| program.axes[*a].def == AxisDef::Made)
    }
}

impl Program {
    /// Records an obligation in the ledger, once.
    pub fn owe(&mut self, what: impl Into<String>, state: State, span: SpanId) {
        let obligation = Obligation { what: what.into(), state, span };
        if !self.report.ledger.contains(&obligation) {
            self.report.ledger.push(obligation);
        }
    }

    /// Returns the layout of a tensor of the launch that is packed itself.
    pub fn packed(&self, buffer: BufferId) -> Option<&Packed> {
        self.statements.packed.iter().find(|p| p.buffer == buffer && p.of.is_none())
    }

    /// Returns the stride of each dimension of a buffer, in elements. `None` if it is contiguous.
    pub fn strides(&self, buffer: BufferId) -> Option<&[ExprId]> {
        self.statements.strided.iter().find(|s| s.buffer == buffer).map(|s| s.strides.as_slice())
    }

    /// The indices of a read, each with the extent of its dimension. A version, which comes first, is skipped because it has no
    /// dimension.
    pub fn dimensions<'p>(&'p self, read: &'p Read) -> impl Iterator<Item = (ExprId, ExprId)> + 'p {
        let shape = &self.buffers[read.buffer].shape;
        let versions = read.index.len().saturating_sub(shape.len());
        read.index.iter().skip(versions).copied().zip(shape.iter().copied())
    }
}
