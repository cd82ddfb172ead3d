//! The body of `schedule!`: which kernel, for which profile, under which facts, and the directives.
//!
//! The trees stand here. [`head`] and [`items`] read what is around directives; [`directives`] knows each by its name, and which
//! parser reads its arguments.

mod directives;
mod head;
mod im2col;
mod items;
mod mma;
mod online;
mod pipeline;
mod promote;
mod several;
mod statements;
mod target;
mod tiles;
mod vectorize;
mod winograd;

pub use directives::{DIRECTIVES, Row};
pub use im2col::Im2col;
pub use online::{Blocks, Online};
pub use statements::{Pack, Statement, StatementKind, StridedTensor, Tune, When};
pub use winograd::Winograd;

use super::expr::Expr;
use super::{Name, Prefix};
use crate::diag::SpanId;
use crate::nest::{How, Level, Slot, Tail};

/// A schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its documentation, attributes and visibility.
    pub prefix: Prefix,
    /// The variant's name.
    pub name: Name,
    /// The kernel's path, as written.
    pub kernel: Vec<Name>,
    /// `T = f32, S = 2`.
    pub bindings: Vec<Binding>,
    /// The profile's path, as written.
    pub profile: Vec<Name>,
    /// What stands after `where`.
    pub facts: Vec<Expr>,
    /// The directives.
    pub items: Vec<Item>,
    /// Whether it is a version for more facts, which `specialize` asks for.
    pub specialized: bool,
}

/// `T = f32` or `S = 2`.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The generic.
    pub name: Name,
    /// Its value: a name for a dtype, a number for a parameter.
    pub value: Expr,
}

/// What stands in a schedule's braces.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A directive for the output.
    Directive(Directive),
    /// What is said of the whole variant.
    Statement(Statement),
    /// Directives for stages: `s, o { … }`.
    Block {
        /// The stages.
        stages: Vec<Name>,
        /// What each of them gets.
        directives: Vec<Directive>,
    },
}

/// A directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Its name, by the table of directives.
    pub called: &'static str,
    /// Which one.
    pub kind: DirectiveKind,
    /// From its name to its closing parenthesis (or what is produced).
    pub span: SpanId,
}

/// The directives.
#[derive(Clone, Debug, PartialEq)]
pub enum DirectiveKind {
    /// `split(oc, [2, _, 4] round_up => r, t, v)`.
    Split {
        /// What is split.
        axis: Name,
        /// A number, or `_`, for each part.
        factors: Vec<Factor>,
        /// What happens past the end.
        tail: Option<TailWord>,
        /// The parts.
        names: Vec<Name>,
    },
    /// `tile(i: 8, k: 8 round_up => k_o) => workgroup(x, y)`.
    Tile {
        /// The tiles.
        tiles: Vec<Tile>,
        /// Where the outer parts go.
        target: Option<Target>,
        /// How the parts of a reduction become one.
        by: Option<By>,
    },
    /// `fuse(oh, ow => p)`.
    Fuse {
        /// What is fused, outermost first.
        axes: Vec<Name>,
        /// The result.
        into: Name,
    },
    /// `reorder(k, i, j)`.
    Reorder(Vec<Name>),
    /// `distribute(i, j => thread(y, x))`, `distribute(k => thread(x), by: tree)`.
    Distribute {
        /// What is distributed.
        axes: Vec<Name>,
        /// Where it goes.
        target: Target,
        /// How the parts of a reduction become one.
        by: Option<By>,
    },
    /// `rfactor(k_o => part)`.
    Rfactor {
        /// The axis whose values get a partial result each.
        axis: Name,
        /// The stage of partial results.
        into: Name,
    },
    /// `serial(n)`.
    Serial(Vec<Name>),
    /// `unroll(i, j)`.
    Unroll(Vec<Name>),
    /// `vectorize(j, 4, unaligned: scalar)`.
    Vectorize {
        /// What is vectorized.
        axis: Name,
        /// How many lanes.
        lanes: Expr,
        /// Whether access lane by lane is meant where alignment is not proved.
        scalar: bool,
    },
    /// `mma(i, j, k, 16 x 16 x 16)`.
    Mma {
        /// Rows, columns and the reduction's.
        axes: [Name; 3],
        /// What matrices are multiplied.
        shape: Box<Shape>,
    },
    /// `fragment(i, j, 16 x 8, by: matrix)`.
    Fragment {
        /// Rows and columns.
        axes: [Name; 2],
        /// How many of each a matrix has.
        sides: Box<[Expr; 2]>,
        /// How elements of a row become one, where the columns are a reduction's.
        by: Option<By>,
        /// Where the sides stand.
        span: SpanId,
    },
    /// `promote(input => x[ic], at: ow, to: register, vector: 8)`.
    Promote(Box<Promote>),
    /// `compute_at(s, k_o, to: shared, row_pad: 4)`: as a promotion of the temporary that a root would have.
    ComputeAt(Box<Promote>),
    /// `pipeline(k_o, a_s, buffers: 1, prefetch: register, fetch: start, store: end)`.
    Pipeline(Box<Pipeline>),
    /// `inline(s)`.
    Inline(Vec<Name>),
    /// `root(s)`.
    Root(Vec<Name>),
    /// `show`.
    Show,
}

/// The arguments of `promote`, and of `compute_at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Promote {
    /// Whether it is `compute_at`: the elements are computed.
    pub computed: bool,
    /// The tensor, or copy, that is copied.
    pub source: Name,
    /// The copy.
    pub name: Option<Name>,
    /// What indexes it.
    pub list: Option<Listed>,
    /// An axis, or a level.
    pub at: Name,
    /// Where the copy lives.
    pub to: Memory,
    /// Where that stands.
    pub to_span: SpanId,
    /// Whether its block distributes what it keeps in registers, so that each invocation of a workgroup has a part of it.
    pub dealt: bool,
    /// What stands where it leaves the tensor.
    pub fill: Option<Expr>,
    /// Elements by which rows are longer.
    pub row_pad: Option<Expr>,
    /// Elements that are copied at a time.
    pub vector: Option<Expr>,
    /// Elements that a swizzle moves together.
    pub swizzle: Option<Expr>,
}

impl Promote {
    /// Whether the invocations of a workgroup make it together, and have all of it between them.
    pub fn is_together(&self) -> bool {
        self.to == Memory::Shared || self.dealt
    }
}

/// `16 x 16 x 16`: the sides of matrices that are multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// M, N and K.
    pub sides: [Expr; 3],
    /// Where it stands.
    pub span: SpanId,
}

/// The arguments of `pipeline`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The loop whose iterations are the steps.
    pub axis: Name,
    /// The copies; none: all shared ones at that loop.
    pub copies: Vec<Name>,
    /// How many buffers each has.
    pub buffers: Expr,
    /// Where `register` stands, if copies go through registers.
    pub prefetch: Option<SpanId>,
    /// Where registers are filled.
    pub fetch: Option<Spot>,
    /// Where the copy is written.
    pub store: Option<Spot>,
}

/// A place in a step: `after s early`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// Between which stages.
    pub at: SpotAt,
    /// Whether it is before the barrier there.
    pub early: bool,
    /// The whole.
    pub span: SpanId,
}

/// Between which stages of a step a place is.
#[derive(Clone, Debug, PartialEq)]
pub enum SpotAt {
    /// `start`.
    Start,
    /// `end`.
    End,
    /// `before s`.
    Before(Name),
    /// `after s`.
    After(Name),
}

/// What indexes a copy: `[k, i, *]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Axes.
    pub axes: Vec<Name>,
    /// The `*`: all dimensions of the tensor that no axis of the list indexes.
    pub rest: Option<SpanId>,
}

/// Memory that a schedule can put something into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// A workgroup's.
    Shared,
    /// An invocation's.
    Register,
    /// A subgroup's matrices.
    Fragment,
}

/// A factor of a split.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// A number.
    Number(Expr),
    /// `_`: whatever is left.
    Inferred(SpanId),
}

/// `i: 8 round_up => i_o`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// What is tiled.
    pub axis: Name,
    /// The extent of a tile.
    pub factor: Expr,
    /// What happens past the end.
    pub tail: Option<TailWord>,
    /// The name of the outer part.
    pub outer: Option<Name>,
}

/// A word after a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailWord {
    /// What it says.
    pub tail: Tail,
    /// Where it stands.
    pub span: SpanId,
}

/// `by: tree`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct By {
    /// The strategy.
    pub how: How,
    /// Where it stands.
    pub span: SpanId,
}

/// `workgroup(z, z, y, x)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Workgroups, threads, subgroups or lanes.
    pub level: Level,
    /// The coordinates, and where they stand.
    pub slots: Vec<(Slot, SpanId)>,
    /// Which of them count downwards, `x down`.
    pub down: Vec<bool>,
    /// The whole.
    pub span: SpanId,
}
