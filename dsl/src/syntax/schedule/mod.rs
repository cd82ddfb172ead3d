//! The body of `schedule!`: the kernel, the profile, the facts, and the directives.
//!
//! This file defines the trees. [`head`] reads the header and [`items`] reads the braces. [`directives`] has the table that maps a
//! directive's name to the parser of its arguments.

pub mod applied;
mod apply;
mod clone;
mod directives;
mod head;
mod im2col;
mod items;
mod mma;
mod numbers;
mod online;
mod pipeline;
mod promote;
mod several;
mod statements;
mod target;
mod tiles;
mod vectorize;
mod winograd;

pub use clone::StageClone;
pub use directives::{DIRECTIVES, Row};
pub(crate) use head::check;
pub use im2col::Im2col;
pub use online::{Blocks, Online};
pub(super) use several::apart;
pub use statements::{Pack, Statement, StatementKind, StridedTensor, Tune, When};
pub use winograd::Winograd;

use super::expr::Expr;
use super::{Library, Name, Prefix, families};
use crate::diag::{Error, Errors, SpanId, Spans};
use crate::nest::{How, Level, Slot, Tail};
use proc_macro2::TokenStream;

/// A schedule.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Its documentation, attributes and visibility.
    pub prefix: Prefix,
    /// The variant's name.
    pub name: Name,
    /// The names of its numbers, `R` of `NAME<R = 32>`. The trees have the numbers' values in their place.
    pub numbers: Vec<Name>,
    /// The kernel's path, as written.
    pub kernel: Vec<Name>,
    /// `T = f32, S = 2`.
    pub bindings: Vec<Binding>,
    /// The profile's path, as written.
    pub profile: Vec<Name>,
    /// The facts after `where`.
    pub facts: Vec<Expr>,
    /// The directives.
    pub items: Vec<Item>,
    /// True if it is a version for additional facts, which `specialize` asks for.
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

/// An item in a schedule's braces.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A directive for the output.
    Directive(Directive),
    /// A statement about the whole variant.
    Statement(Statement),
    /// Directives for stages: `s, o { … }`.
    Block {
        /// The stages.
        stages: Vec<Name>,
        /// The directives, which apply to each of the stages.
        directives: Vec<Directive>,
    },
}

impl Schedule {
    /// Returns the statements, in order.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> + Clone {
        self.items.iter().filter_map(|item| match item {
            Item::Statement(statement) => Some(statement),
            _ => None,
        })
    }

    /// Returns the directives, in order. Directives in the block of several stages appear once.
    pub fn directives(&self) -> impl Iterator<Item = &Directive> {
        self.items.iter().flat_map(|item| match item {
            Item::Directive(directive) => std::slice::from_ref(directive),
            Item::Block { directives, .. } => directives.as_slice(),
            Item::Statement(_) => &[],
        })
    }
}

/// Reads a directive or a statement that the planner wrote, without its semicolon. Its place in the user's file is `place`.
///
/// # Errors
/// The text is neither.
pub fn planned(text: &str, place: SpanId) -> Result<Vec<Item>, Errors> {
    let items = super::parse(lexed(&format!("{text};"), place)?, &mut Spans::only(place), |cursor| {
        Ok(items::items(cursor, &Library::default()))
    });
    let named = |item| match item {
        Item::Directive(directive) => Item::Directive(Directive { planned: Some(text.to_owned()), ..directive }),
        other => other,
    };
    items.into_result().map(|items| items.into_iter().map(named).collect())
}

/// Reads facts that the planner wrote, separated by commas. Their place in the user's file is `place`.
///
/// # Errors
/// The text is not a list of facts.
pub fn planned_facts(text: &str, place: SpanId) -> Result<Vec<Expr>, Errors> {
    super::parse(lexed(&format!("where {text}"), place)?, &mut Spans::only(place), super::expr::facts).into_result()
}

fn lexed(text: &str, place: SpanId) -> Result<TokenStream, Errors> {
    text.parse().map_err(|e: proc_macro2::LexError| Error::new(place, e.to_string()).into())
}

/// A directive.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Its name in the table of directives.
    pub called: &'static str,
    /// The kind, with the arguments.
    pub kind: DirectiveKind,
    /// The place, from its name to its closing parenthesis or its last argument.
    pub span: SpanId,
    /// The text of a directive that the planner wrote. It is not in the user's file.
    pub planned: Option<String>,
}

/// The directives.
#[derive(Clone, Debug, PartialEq)]
pub enum DirectiveKind {
    /// `split(oc, [2, _, 4] round_up => r, t, v)`.
    Split {
        /// The axis that is split.
        axis: Name,
        /// A number, or `_`, for each part.
        factors: Vec<Factor>,
        /// The treatment of a partial last tile.
        tail: Option<TailWord>,
        /// The parts.
        names: Vec<Name>,
    },
    /// `tile(i: 8, k: 8 round_up => k_o) => workgroup(x, y)`.
    Tile {
        /// The tiles.
        tiles: Vec<Tile>,
        /// The target of the outer parts.
        target: Option<Target>,
        /// The strategy that combines the partial results of a reduction.
        by: Option<By>,
    },
    /// `fuse(oh, ow => p)`.
    Fuse {
        /// The axes that are fused, outermost first.
        axes: Vec<Name>,
        /// The result.
        into: Name,
    },
    /// `reorder(k, i, j)`.
    Reorder(Vec<Name>),
    /// `distribute(i, j => thread(y, x))`, `distribute(k => thread(x), by: tree)`.
    Distribute {
        /// The axes that are distributed.
        axes: Vec<Name>,
        /// The target.
        target: Target,
        /// The strategy that combines the partial results of a reduction.
        by: Option<By>,
    },
    /// `rfactor(k_o => part)`.
    Rfactor {
        /// The axis of the reduction. Each of its values gets a partial result.
        axis: Name,
        /// The stage of partial results.
        into: Name,
    },
    /// `scatter(b)`.
    Scatter(Vec<Name>),
    /// `accumulate(as f32)`.
    Accumulate(Name),
    /// `serial(n)`.
    Serial(Vec<Name>),
    /// `unroll(i, j)`.
    Unroll(Vec<Name>),
    /// `border(y, x)`.
    Border(Vec<Name>),
    /// `vectorize(j, 4, unaligned: scalar)`.
    Vectorize {
        /// The axis that is vectorized.
        axis: Name,
        /// The number of lanes.
        lanes: Expr,
        /// True to access memory lane by lane where alignment is not proved.
        scalar: bool,
    },
    /// `dot(k, 4)`.
    Dot {
        /// The axis of the sum.
        axis: Name,
        /// The number of factors in a word.
        bytes: Expr,
    },
    /// `mma(i, j, k, 16 x 16 x 16)`.
    Mma {
        /// The axes of rows, of columns and of the reduction.
        axes: [Name; 3],
        /// The shape of the matrices that are multiplied.
        shape: Box<Shape>,
    },
    /// `fragment(i, j, 16 x 8, by: matrix)`.
    Fragment {
        /// The axes of rows and columns.
        axes: [Name; 2],
        /// The rows and columns of a matrix.
        sides: Box<[Expr; 2]>,
        /// The strategy that combines the elements of a row, if the columns are the axis of a reduction.
        by: Option<By>,
        /// The place of the sides.
        span: SpanId,
    },
    /// `promote(input => x[ic], at: ow, to: register, vector: 8)`.
    Promote(Box<Promote>),
    /// `compute_at(s, k_o, to: shared, row_pad: 4)`. The arguments are read as a promotion of the temporary that `root(s)` would make.
    ComputeAt(Box<Promote>),
    /// `pipeline(k_o, a_s, buffers: 1, prefetch: register, fetch: start, store: end)`.
    Pipeline(Box<Pipeline>),
    /// `inline(s)`.
    Inline(Vec<Name>),
    /// `root(s)`.
    Root(Vec<Name>),
    /// `default`.
    Default,
    /// `show`.
    Show,
}

impl DirectiveKind {
    /// True if it places an intermediate before the first nest is made, and does not rewrite a nest.
    pub fn is_placement(&self) -> bool {
        matches!(self, DirectiveKind::Inline(_) | DirectiveKind::Root(_))
    }

    /// True if it shapes the nest of its stage. The planner does not plan a stage with such a directive.
    pub fn shapes(&self) -> bool {
        !self.is_placement() && *self != DirectiveKind::Show
    }

    /// Returns the name of the copy or stage that it makes: the given name, or `a_shared` for a copy of `a` to shared memory.
    pub fn makes(&self) -> Option<Name> {
        match self {
            DirectiveKind::Promote(promote) => Some(promote.copy_name()),
            DirectiveKind::Rfactor { into, .. } => Some(into.clone()),
            _ => None,
        }
    }
}

/// The arguments of `promote`, and of `compute_at`.
#[derive(Clone, Debug, PartialEq)]
pub struct Promote {
    /// True for `compute_at`, which computes the elements instead of copying them.
    pub computed: bool,
    /// The tensor or copy that is copied.
    pub source: Name,
    /// The copy.
    pub name: Option<Name>,
    /// The axes that index the copy.
    pub list: Option<Listed>,
    /// The axis or level at which the copy is made.
    pub at: Name,
    /// The memory of the copy.
    pub to: Memory,
    /// The place of the memory's name.
    pub to_span: SpanId,
    /// True if the block distributes the copy's registers, so that each invocation of a workgroup holds a part of it.
    pub dealt: bool,
    /// The value of elements out of the tensor's bounds.
    pub fill: Option<Expr>,
    /// The number of padding elements at the end of each row.
    pub row_pad: Option<Expr>,
    /// The number of elements that are copied at a time.
    pub vector: Option<Expr>,
    /// The number of elements that a swizzle moves together.
    pub swizzle: Option<Expr>,
}

impl Promote {
    /// Returns the name of the copy: the given name, or one derived from the source's name. A stage that is computed keeps its name.
    pub fn copy_name(&self) -> Name {
        let derived = || match self.computed {
            true => self.source.clone(),
            false => {
                Name { text: format!("{}_{}", families::identifier(&self.source.text), self.to.word()), span: self.source.span }
            }
        };
        self.name.clone().unwrap_or_else(derived)
    }

    /// True if the invocations of a workgroup make and hold the copy together.
    pub fn is_together(&self) -> bool {
        self.to == Memory::Shared || self.dealt
    }
}

/// `16 x 16 x 16`: the sides of matrices that are multiplied.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// M, N and K.
    pub sides: [Expr; 3],
    /// The place in the source.
    pub span: SpanId,
}

/// The arguments of `pipeline`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pipeline {
    /// The loop whose iterations are the steps.
    pub axis: Name,
    /// The copies. If none is named, all shared copies at that loop.
    pub copies: Vec<Name>,
    /// The number of buffers for each copy.
    pub buffers: Expr,
    /// The place of `register`, if the copies are prefetched to registers.
    pub prefetch: Option<SpanId>,
    /// The position in the step at which registers are filled.
    pub fetch: Option<Spot>,
    /// The position in the step at which the copy is written.
    pub store: Option<Spot>,
}

/// A position in a step of a pipeline: `after s early`.
#[derive(Clone, Debug, PartialEq)]
pub struct Spot {
    /// The position between stages.
    pub at: SpotAt,
    /// True if it precedes the barrier at that position.
    pub early: bool,
    /// The place of the whole text.
    pub span: SpanId,
}

/// A position between the stages of a step.
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

/// The axes that index a copy: `[k, i, *]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// Axes.
    pub axes: Vec<Name>,
    /// The place of `*`, which adds all dimensions of the tensor that no axis of the list indexes.
    pub rest: Option<SpanId>,
}

/// A memory in which a schedule can place a copy or a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Shared by a workgroup.
    Shared,
    /// Private to an invocation.
    Register,
    /// Matrices of a subgroup.
    Fragment,
}

/// A factor of a split.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// A number.
    Number(Expr),
    /// `_`: inferred from the extent and the other factors.
    Inferred(SpanId),
}

/// `i: 8 round_up => i_o`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    /// The axis that is tiled.
    pub axis: Name,
    /// The extent of a tile.
    pub factor: Expr,
    /// The treatment of a partial last tile.
    pub tail: Option<TailWord>,
    /// The name of the outer part.
    pub outer: Option<Name>,
}

/// A tail's keyword, after a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailWord {
    /// The tail.
    pub tail: Tail,
    /// The place of the keyword.
    pub span: SpanId,
}

/// `by: tree`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct By {
    /// The strategy.
    pub how: How,
    /// The place of the strategy.
    pub span: SpanId,
}

/// `workgroup(z, z, y, x)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Workgroups, threads, subgroups or lanes.
    pub level: Level,
    /// The coordinates and their places.
    pub slots: Vec<(Slot, SpanId)>,
    /// True for each coordinate that counts downwards, `x down`.
    pub down: Vec<bool>,
    /// The place of the whole text.
    pub span: SpanId,
}
