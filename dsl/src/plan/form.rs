//! The form of a stage: its axes with what facts say of their extents, and how each access moves along them.
//!
//! [`Nest`] is all that the rules of the planner look at. Two stages with equal forms get equal plans.

use crate::expr::{Expr, ExprId, Read};
use crate::facts::Prover;
use crate::nest::{AxisId, Body, BufferId, Monoid, Program, Stage, StageId};
use crate::profile::Profile;
use tilewright_launch::{DType, Feature};

/// An axis of a stage.
#[derive(Clone, Debug)]
pub(super) struct Side {
    /// The axis.
    pub(super) axis: AxisId,
    /// Its name.
    pub(super) name: String,
    /// Its extent.
    pub(super) extent: ExprId,
    /// The extent as a fact names it.
    pub(super) text: String,
    /// The extent, if it is a literal.
    pub(super) exact: Option<i64>,
    /// An upper bound of the extent, if facts give one.
    pub(super) most: Option<i64>,
    /// A lower bound of the extent, at least 0.
    pub(super) least: i64,
    /// The largest power of two up to 128 that provably divides the extent.
    pub(super) divisor: i64,
    /// True if the extent depends on another axis.
    pub(super) ragged: bool,
    /// The dim that the extent is, and the number that is added to it, if it is such a sum.
    pub(super) dim: Option<(String, i64)>,
}

impl Side {
    /// Returns the fact that `n` divides the extent. `None` if that is proved, or if the extent is a literal.
    pub(super) fn multiple(&self, n: i64) -> Option<String> {
        let size = match &self.dim {
            Some((dim, more)) if more % n == 0 => dim.clone(),
            Some((dim, more)) => format!("({dim} + {})", more.rem_euclid(n)),
            None => self.factor(),
        };
        (self.exact.is_none() && self.divisor % n != 0).then(|| format!("{size} % {n} == 0"))
    }

    /// Returns a simple fact by which the extent is at least `n`.
    pub(super) fn at_least(&self, n: i64) -> String {
        match &self.dim {
            Some((dim, more)) => format!("{dim} >= {}", n.max(n - more)),
            None => format!("{} >= {n}", self.text),
        }
    }

    /// Returns the extent as a factor of a product.
    pub(super) fn factor(&self) -> String {
        if self.text.contains(' ') { format!("({})", self.text) } else { self.text.clone() }
    }
}

/// How an access moves in memory when an axis advances by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The axis does not occur in the index.
    Stays,
    /// To the next element.
    Next,
    /// To an element further away.
    Far,
    /// To an element that depends on data or on a quotient.
    Unknown,
}

/// An access to a buffer of device memory.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    /// The buffer.
    pub(super) buffer: BufferId,
    /// The name of the buffer.
    pub(super) name: String,
    /// Its element type.
    pub(super) dtype: DType,
    /// The step for each axis of the nest: first the parallel axes, then the axes of the reduction.
    pub(super) steps: Vec<Step>,
    /// True if the indices are the reader's first parallel axes, in order.
    pub(super) prefix: bool,
    /// True if the indices are all of its parallel axes, and the result has the same shape.
    pub(super) same: bool,
    /// True if the indices are all of its parallel axes, in order, and then axes of its reduction.
    pub(super) whole: bool,
    /// The number of accesses that move like this one, at other offsets.
    pub(super) count: usize,
    /// The number of those accesses with an offset along the last axis of the buffer.
    pub(super) shifted: usize,
}

impl Touch {
    /// True if the index depends on the axis with this number.
    pub(super) fn uses(&self, axis: usize) -> bool {
        self.steps[axis] != Step::Stays
    }

    /// Joins an access that moves equally, and whose indices may have other offsets.
    fn join(&mut self, other: &Touch) {
        self.prefix &= other.prefix;
        self.same &= other.same;
        self.whole &= other.whole;
        self.count += other.count;
        self.shifted += other.shifted;
    }
}

/// A stage before it is scheduled.
#[derive(Clone, Debug)]
pub(super) struct Nest {
    /// The stage.
    pub(super) stage: StageId,
    /// Its name.
    pub(super) name: String,
    /// The parallel axes of more than one value, outermost first.
    pub(super) parallel: Vec<Side>,
    /// The axes of the reduction of more than one value.
    pub(super) reduced: Vec<Side>,
    /// An upper bound of the number of items of the reduction, if facts give one.
    pub(super) items: Option<i64>,
    /// The reads of the items of a reduction, or of the value.
    pub(super) reads: Vec<Touch>,
    /// The reads of the value that is computed after a reduction.
    pub(super) finish: Vec<Touch>,
    /// The write of the result.
    pub(super) write: Touch,
    /// The reduction, if the stage is one.
    pub(super) monoid: Option<Monoid>,
    /// True if the value depends on the axes by itself, not only by the indices of reads.
    pub(super) positioned: bool,
    /// True if it defines an output or updates a tensor.
    pub(super) result: bool,
    /// True if the planner writes its directives.
    pub(super) open: bool,
    /// True if the schedule gives it a dispatch of its own.
    pub(super) rooted: bool,
}

impl Nest {
    /// Reads the form of a stage.
    pub(super) fn of(program: &Program, stage: StageId) -> Nest {
        let prover = Prover::new(program);
        let of = &program.stages[stage];
        let live = |axes: &[AxisId]| -> Vec<Side> {
            axes.iter().filter(|a| !program.is_single(**a)).map(|a| side(program, &prover, *a)).collect()
        };
        let parallel = live(&of.axes);
        let (reduced, values, last, monoid) = match &of.body {
            Body::Map(_) => (Vec::new(), of.stored(), Vec::new(), None),
            Body::Reduce { monoid, over, lift, finish } => (live(over), lift.clone(), vec![*finish], Some(monoid.clone())),
        };
        let items = items_of(program, &prover, &reduced);
        let all: Vec<AxisId> = parallel.iter().chain(&reduced).map(|s| s.axis).collect();
        let touches = |values: &[ExprId]| -> Vec<Touch> {
            let mut found: Vec<Touch> = Vec::new();
            for read in values.iter().flat_map(|v| program.exprs.reads(*v)) {
                if program.buffers[read.buffer].space.is_global() {
                    let touch = touch(program, &read, &all, of);
                    match found.iter_mut().find(|t| t.buffer == touch.buffer && t.steps == touch.steps) {
                        Some(other) => other.join(&touch),
                        None => found.push(touch),
                    }
                }
            }
            found
        };
        let index = of.axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
        let write = Read { buffer: of.buffer, index, outside: crate::expr::Outside::Never };
        Nest {
            stage,
            name: of.name.clone(),
            reads: touches(&values),
            finish: touches(&last),
            write: touch(program, &write, &all, of),
            parallel,
            reduced,
            items,
            monoid,
            positioned: values.iter().chain(&last).any(|value| is_positioned(program, *value)),
            result: program.is_result(stage),
            open: true,
            rooted: false,
        }
    }

    /// True if a second dispatch can combine partial results. Without addresses, the states of both dispatches must fit in the four
    /// buffers of a dispatch that every device has.
    pub(super) fn has_parts(&self, profile: &Profile) -> bool {
        self.monoid.as_ref().is_some_and(|monoid| monoid.identity.len() <= 2 || profile.has(Feature::Address))
    }

    /// Returns all reads.
    pub(super) fn all_reads(&self) -> impl Iterator<Item = &Touch> {
        self.reads.iter().chain(&self.finish)
    }

    /// Returns the number of an axis of the reduction among all axes.
    pub(super) fn reduced_at(&self, n: usize) -> usize {
        self.parallel.len() + n
    }

    /// Returns the bytes of the widest element that the stage accesses.
    pub(super) fn widest(&self) -> i64 {
        let all = self.all_reads().chain([&self.write]);
        all.map(|t| t.dtype.bytes() as i64).max().unwrap_or(4)
    }

    /// Returns the names of axes.
    pub(super) fn names(sides: &[Side]) -> String {
        sides.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the number of points of axes, if their extents are literals and the number fits in 64 bits.
pub(super) fn points(sides: &[Side]) -> Option<i64> {
    sides.iter().try_fold(1i64, |all, side| all.checked_mul(side.exact?))
}

/// Returns the word for the tail of tiles of `n` elements: `word`, or `guard` if the axis is a shorter literal, which is an error with
/// another word.
pub(super) fn tail(extent: Option<i64>, n: i64, word: &'static str) -> &'static str {
    if extent.is_some_and(|extent| extent.max(1) < n) { " guard" } else { word }
}

/// Returns an upper bound of the number of items of a reduction. A fact can bound the product of extents more tightly than each extent.
fn items_of(program: &Program, prover: &Prover<'_>, reduced: &[Side]) -> Option<i64> {
    let apart: Option<i64> = reduced.iter().map(|side| side.most).try_fold(1i64, |all, most| all.checked_mul(most?));
    if reduced.len() < 2 || points(reduced).is_some() {
        return apart;
    }
    let extents = reduced.iter().map(|side| side.extent);
    let together = extents.reduce(|all, more| program.exprs.product(all, more)).and_then(|product| prover.upper(product));
    apart.into_iter().chain(together).min()
}

/// Returns an axis with the bounds of its extent that facts prove.
fn side(program: &Program, prover: &Prover<'_>, axis: AxisId) -> Side {
    let extent = program.axes[axis].extent;
    let exact = program.exprs.as_int(extent);
    let ragged = program.exprs.uses_axis(extent, &mut |_| true);
    let sum = program.exprs.linear(extent);
    let dim = match (sum.axes.is_empty(), sum.rest.as_slice()) {
        (true, [(e, 1)]) if matches!(program.exprs.get(*e), Expr::Dim(_)) => Some(crate::nest::print::expr(program, *e)),
        _ => None,
    };
    Side {
        dim: dim.map(|dim| (dim, sum.constant)),
        axis,
        name: program.axes[axis].name.clone(),
        extent,
        text: crate::nest::print::expr(program, extent),
        exact,
        most: exact.or_else(|| prover.upper(extent)),
        least: exact.or_else(|| prover.lower(extent)).unwrap_or(0).max(0),
        divisor: [128, 64, 32, 16, 8, 4, 2].into_iter().find(|n| prover.divides(*n, extent)).unwrap_or(1),
        ragged,
    }
}

/// True if an axis is an operand of the expression, other than as the index of a read.
fn is_positioned(program: &Program, value: ExprId) -> bool {
    let is_axis = |id: ExprId| matches!(program.exprs.get(id), Expr::Axis(_));
    is_axis(value)
        || program.exprs.any(value, &mut |part| {
            let mut found = false;
            if !matches!(part, Expr::Read(_)) {
                part.each_operand(&mut |operand| found |= is_axis(operand));
            }
            found
        })
}

/// Returns how an access of a stage moves along the axes.
fn touch(program: &Program, read: &Read, all: &[AxisId], stage: &Stage) -> Touch {
    let sums: Vec<_> = read.index.iter().map(|index| program.exprs.linear(*index)).collect();
    let step = |axis: &AxisId| {
        let last = sums.len().saturating_sub(1);
        let mut step = Step::Stays;
        for (n, sum) in sums.iter().enumerate() {
            if sum.rest.iter().any(|(e, _)| program.exprs.uses_axis(*e, &mut |a| a == *axis)) {
                return Step::Unknown;
            }
            step = match (sum.axes.get(axis), step) {
                (None, step) => step,
                (Some(1), Step::Stays) if n == last => Step::Next,
                (Some(_), _) => Step::Far,
            };
        }
        step
    };
    let is_own = |(index, axis): (&ExprId, &AxisId)| program.exprs.axis(*axis) == *index;
    let own = &stage.axes;
    let equal = read.index.iter().zip(own).all(is_own);
    let prefix = equal && read.index.len() <= own.len();
    let shape = |buffer: BufferId| &program.buffers[buffer].shape;
    let same = prefix && read.index.len() == own.len() && shape(read.buffer) == shape(stage.buffer);
    let over: &[AxisId] = match &stage.body {
        Body::Map(_) => &[],
        Body::Reduce { over, .. } => over,
    };
    let is_reduced = |index: &ExprId| over.iter().any(|axis| program.exprs.axis(*axis) == *index);
    let whole = equal && read.index.len() >= own.len() && read.index[own.len()..].iter().all(is_reduced);
    let name = program.buffers[read.buffer].name.clone();
    Touch {
        buffer: read.buffer,
        name,
        dtype: program.buffers[read.buffer].dtype,
        steps: all.iter().map(step).collect(),
        prefix,
        same,
        whole,
        count: 1,
        shifted: usize::from(sums.last().is_some_and(|sum| sum.constant != 0)),
    }
}
