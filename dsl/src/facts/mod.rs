//! The prover: what holds for all sizes that a program admits, and for all values of the axes in it.
//!
//! Indices are polynomials in dims and axes, whose floors, minima and choices are atoms (`atoms`); facts are polynomials
//! that are at least 0, and equations replace atoms (`conditions`); a proof replaces atoms by their bounds until no
//! term is negative (`prove`). All of it is bounded: what takes too long, overflows or is beyond it is "not proved", and
//! every caller has a guard, a check at launch or an error for that. What is proved is true of the integers that the
//! expressions mean; that 32 bits hold them is checked elsewhere.
//!
//! A claim is about all points at which it has a meaning: the axes that it names are within their extents, and so those
//! extents are at least 1. Of axes that it does not name nothing is assumed; they may be empty. A claim about an axis without values
//! holds, whatever it says.

mod atoms;
mod clamps;
mod conditions;
mod context;
mod counterexample;
mod data;
pub(crate) mod defined;
mod divides;
mod ends;
mod eval;
mod floor;
mod known;
mod mono;
mod poly;
mod prove;
mod remembered;
mod samples;
mod show;
mod tables;
mod translate;
mod wraps;

pub use counterexample::Counterexample;
pub use poly::Poly;

use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AxisId, Program};
use atoms::Formula;
use context::Context;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Which axes are variables of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    /// All.
    Roots,
    /// Those that were not consumed; the others are made of these.
    Leaves,
}

/// A side of a claim: an expression, a number or a polynomial of the same prover.
#[derive(Clone, Copy, Debug)]
pub enum Operand<'a> {
    /// An expression.
    Expr(ExprId),
    /// A number.
    Int(i64),
    /// A polynomial.
    Poly(&'a Poly),
}

impl From<ExprId> for Operand<'_> {
    fn from(e: ExprId) -> Self {
        Operand::Expr(e)
    }
}

impl From<i64> for Operand<'_> {
    fn from(n: i64) -> Self {
        Operand::Int(n)
    }
}

impl<'a> From<&'a Poly> for Operand<'a> {
    fn from(p: &'a Poly) -> Self {
        Operand::Poly(p)
    }
}

/// Something to be proved.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// `a < b`.
    Less(Operand<'a>, Operand<'a>),
    /// `a <= b`.
    LessEqual(Operand<'a>, Operand<'a>),
    /// `a == b`.
    Equal(Operand<'a>, Operand<'a>),
    /// `0 <= a && a < b`.
    Inside(Operand<'a>, Operand<'a>),
    /// `a % c == 0`; of a `c` below 1 nothing is proved.
    Divides(i64, Operand<'a>),
}

/// Proves claims about a program's dims and axes. It holds the program as it was when the prover was made, but for new expressions.
#[derive(Debug)]
pub struct Prover<'p> {
    context: RefCell<Context<'p>>,
    /// What holds besides, with what it is compared to.
    assumed: Vec<(ExprId, bool)>,
}

impl<'p> Prover<'p> {
    /// Every axis is a variable within its own extent, a consumed one too: the view of what a stage computes, and of the
    /// values of axes once they are clamped.
    pub fn new(program: &'p Program) -> Prover<'p> {
        Prover::with_view(program, View::Roots)
    }

    /// A consumed axis is what its parts make it, past its own extent where a split is inexact: the view of addresses.
    pub fn on_leaves(program: &'p Program) -> Prover<'p> {
        Prover::with_view(program, View::Leaves)
    }

    fn with_view(program: &'p Program, view: View) -> Prover<'p> {
        Prover { context: RefCell::new(Context::loaded(program, view)), assumed: Vec::new() }
    }

    /// A prover that knows besides that `cond`, a bool, holds (or, with `holds` false, that it does not). Of comparisons
    /// of indices joined by `&&`, `||` and `!` it uses what it understands. It speaks of points where the condition was
    /// evaluated: the axes that it names count as in range in every claim.
    pub fn assuming(&self, cond: ExprId, holds: bool) -> Prover<'p> {
        let mut context = self.context.borrow().fork();
        let axes = context.axes_of(cond);
        context.scope.extend(axes.iter());
        context.assumes = true;
        let formula = context.formula(cond, holds);
        context.suppose(&formula);
        context.find_signs();
        let mut assumed = self.assumed.clone();
        assumed.push((cond, holds));
        Prover { context: RefCell::new(context), assumed }
    }

    /// A prover whose claims and assumptions may be about data, too: what tensors and scalar arguments hold.
    pub fn about_data(&self) -> Prover<'p> {
        let mut context = self.context.borrow().fork();
        context.read_data();
        Prover { context: RefCell::new(context), assumed: self.assumed.clone() }
    }

    /// A prover for points at which an expression is defined: no divisor in it is 0, and the axes of divisors are in range. Nothing is
    /// assumed where the expression has a choice, as a divisor may belong to one case alone.
    pub fn where_defined(&self, e: ExprId) -> Prover<'p> {
        let mut context = self.context.borrow().fork();
        let (program, mut divisors, mut chooses) = (context.program, Vec::new(), false);
        program.exprs.any(e, &mut |e| {
            match e {
                Expr::Binary(Binary::FloorDiv | Binary::FloorMod | Binary::Div | Binary::Rem, _, divisor) => {
                    divisors.push(*divisor)
                }
                Expr::Select(..) => chooses = true,
                _ => {}
            }
            false
        });
        context.assumes = true;
        for divisor in divisors.into_iter().filter(|_| !chooses) {
            let axes = context.axes_of(divisor);
            context.scope.extend(axes.iter());
            let formula = context.poly(divisor).map_or(Formula::Unknown, Formula::NonZero);
            context.suppose(&formula);
        }
        context.find_signs();
        Prover { context: RefCell::new(context), assumed: self.assumed.clone() }
    }

    /// A prover that knows of the program what the algorithm says, and not what the schedule's head and directives state: facts can make a
    /// claim harder to see.
    pub fn without_facts(&self) -> Prover<'p> {
        let known = self.context.borrow();
        let mut context = Context::new(known.program, known.view);
        context.load(&|_| false);
        Prover { context: RefCell::new(context), assumed: Vec::new() }
    }

    /// A prover for whose claims these axes too are in range: those of the loops around a place.
    pub fn within(&self, axes: impl IntoIterator<Item = AxisId>) -> Prover<'p> {
        let mut context = self.context.borrow().fork();
        for axis in axes {
            if let Some(value) = context.axis(axis) {
                let inner = context.axes_in([&value]);
                context.scope.extend(inner);
            }
        }
        Prover { context: RefCell::new(context), assumed: self.assumed.clone() }
    }

    /// A copy, to be asked. What a prover can prove may depend on the questions before: where a pass and the verifier must agree, each asks a
    /// fresh copy of a prover that is itself never asked.
    #[must_use]
    pub fn afresh(&self) -> Prover<'p> {
        self.within([])
    }

    /// `a >= 0`.
    pub fn nonneg<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        self.less_equal(0, a)
    }

    /// `a >= 1`.
    pub fn positive<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        self.less_equal(1, a)
    }

    /// `a != 0`.
    pub fn nonzero<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        let a = a.into();
        self.less(0, a) || self.less(a, 0)
    }

    /// `a >= least`.
    pub fn at_least<'a>(&self, a: impl Into<Operand<'a>>, least: i64) -> bool {
        self.less_equal(least, a)
    }

    /// `a < b`.
    pub fn less<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Less(a.into(), b.into()))
    }

    /// `a + distance <= b`.
    pub fn less_by<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, distance: i64) -> bool {
        self.context.borrow_mut().proves_order(a.into(), b.into(), distance)
    }

    /// `a <= b`.
    pub fn less_equal<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::LessEqual(a.into(), b.into()))
    }

    /// `a == b`.
    pub fn equal<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Equal(a.into(), b.into()))
    }

    /// `0 <= index && index < extent`.
    pub fn inside<'a>(&self, index: impl Into<Operand<'a>>, extent: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Inside(index.into(), extent.into()))
    }

    /// `a % c == 0`. `false` for a `c` below 1.
    pub fn divides<'a>(&self, c: i64, a: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Divides(c, a.into()))
    }

    /// Whether a claim is proved.
    pub fn proves(&self, claim: Claim<'_>) -> bool {
        let mut context = self.context.borrow_mut();
        match claim {
            Claim::Less(a, b) => context.proves_order(a, b, 1),
            Claim::LessEqual(a, b) => context.proves_order(a, b, 0),
            Claim::Equal(a, b) => context.proves_order(a, b, 0) && context.proves_order(b, a, 0),
            Claim::Inside(a, b) => context.proves_order(Operand::Int(0), a, 0) && context.proves_order(a, b, 1),
            Claim::Divides(c, a) => c >= 1 && context.operand(a).is_some_and(|p| context.divides(c.into(), &p)),
        }
    }

    /// The polynomial that an expression is; `None`: it depends on data, or is none.
    pub fn poly(&self, e: ExprId) -> Option<Poly> {
        self.context.borrow_mut().poly(e)
    }

    /// The least number that is proved to be an upper bound.
    pub fn upper<'a>(&self, a: impl Into<Operand<'a>>) -> Option<i64> {
        let mut context = self.context.borrow_mut();
        let a = a.into();
        let axes = context.operand_axes([a]);
        let negated = context.operand(a)?.neg()?;
        let clamped = context.clamped(a).and_then(|e| context.upper_clamped(&axes, e)?.checked_neg());
        context.greatest_lower_from(&axes, &negated, clamped)?.checked_neg()
    }

    /// The greatest number that is proved to be a lower bound.
    pub fn lower<'a>(&self, a: impl Into<Operand<'a>>) -> Option<i64> {
        let mut context = self.context.borrow_mut();
        let a = a.into();
        let axes = context.operand_axes([a]);
        let p = context.operand(a)?;
        let clamped = context.clamped(a).and_then(|e| context.lower_clamped(&axes, e));
        context.greatest_lower_from(&axes, &p, clamped)
    }

    /// The fewest of the program's conditions, as places in [`Program::conditions`], that no sizes satisfy together, if
    /// there are such. One alone contradicts that dims are not negative, or what a derived dim is.
    pub fn contradiction(&self) -> Option<Vec<usize>> {
        if self.assumed.is_empty() && !self.is_impossible() {
            return None;
        }
        let (program, view) = {
            let context = self.context.borrow();
            (context.program, context.view)
        };
        let absurd = |conditions: &[usize]| {
            let mut context = Context::new(program, view);
            context.load(&|i| conditions.contains(&i));
            context.is_absurd()
        };
        conditions::contradicting(absurd, program.conditions.len())
    }

    /// Whether it is found that no sizes satisfy the conditions and the assumptions.
    pub fn is_impossible(&self) -> bool {
        self.context.borrow_mut().is_absurd()
    }

    /// Whether a condition's removal would leave it proved by the others: its place in [`Program::conditions`].
    pub fn is_redundant(&self, condition: usize) -> bool {
        let (program, view) = {
            let context = self.context.borrow();
            (context.program, context.view)
        };
        let Some(claim) = program.conditions.get(condition) else { return false };
        let mut context = Context::new(program, view);
        context.load(&|i| i != condition);
        context.holds(claim)
    }
}

impl Context<'_> {
    /// `a + distance <= b`.
    fn proves_order(&mut self, a: Operand<'_>, b: Operand<'_>, distance: i64) -> bool {
        let axes = self.operand_axes([a, b]);
        let difference = self.operand(b).zip(self.operand(a)).and_then(|(b, a)| b.sub(&a)?.plus(-distance));
        difference.as_ref().is_some_and(|p| self.is_clamped_order(&axes, p, (a, b), distance) || self.prove_in(&axes, p))
            || self.is_about_nothing(&axes)
    }

    /// Proves `a + distance <= b` by the clamps in `a` and `b`. `rest` is `b - a - distance`.
    fn is_clamped_order(
        &mut self,
        axes: &BTreeSet<AxisId>,
        rest: &Poly,
        (a, b): (Operand<'_>, Operand<'_>),
        distance: i64,
    ) -> bool {
        if !self.has_minima(rest) {
            return false;
        }
        let exprs = &self.program.exprs;
        let (whole, least) = match (a, b) {
            (Operand::Expr(a), Operand::Expr(b)) => (exprs.difference(b, a), distance),
            (Operand::Int(a), Operand::Expr(b)) => (b, a.saturating_add(distance)),
            (Operand::Expr(a), Operand::Int(b)) => (exprs.difference(exprs.int(0), a), distance.saturating_sub(b)),
            _ => return false,
        };
        self.clamped(Operand::Expr(whole)).is_some()
            && self.least_seen(axes, rest).is_none_or(|seen| seen >= 0)
            && self.is_above_clamped(axes, whole, least)
    }

    /// Returns the expression of an operand, if it contains several minima and maxima.
    fn clamped(&self, operand: Operand<'_>) -> Option<ExprId> {
        match operand {
            Operand::Expr(e) if self.is_clamped(e) => Some(e),
            _ => None,
        }
    }

    fn operand(&mut self, operand: Operand<'_>) -> Option<Poly> {
        match operand {
            Operand::Expr(e) => self.poly(e),
            Operand::Int(n) => Some(Poly::constant(n)),
            // Of the prover that this one was made from, before its assumptions.
            Operand::Poly(p) => self.resolve(p),
        }
    }

    /// The axes that operands name, at any depth.
    fn operand_axes<'a>(&mut self, operands: impl IntoIterator<Item = Operand<'a>>) -> BTreeSet<AxisId> {
        let mut axes = BTreeSet::new();
        for operand in operands {
            match operand {
                Operand::Expr(e) => axes.extend(self.axes_of(e).iter()),
                Operand::Poly(p) => axes.extend(self.axes_in([p])),
                Operand::Int(_) => {}
            }
        }
        axes
    }

    /// The greatest 32-bit number that `p` is proved not to be below, where one may be known.
    fn greatest_lower_from(&mut self, axes: &BTreeSet<AxisId>, p: &Poly, known: Option<i64>) -> Option<i64> {
        // If `p` has this value somewhere, no greater bound holds.
        let is_reached = |cx: &mut Self| known.is_some() && cx.least_seen(axes, p) == known.map(i128::from);
        if is_reached(self) { known } else { self.greatest_lower(axes, p).max(known) }
    }

    /// The greatest 32-bit number that `p` is proved not to be below.
    fn greatest_lower(&mut self, axes: &BTreeSet<AxisId>, p: &Poly) -> Option<i64> {
        if let Some(c) = p.as_constant() {
            return i64::try_from(c).ok();
        }
        // What it is at some points: it is often the bound.
        let seen = self.least_seen(axes, p).and_then(|v| i64::try_from(v).ok());
        let mut proved = |low: i64| p.plus(-low).is_some_and(|p| self.prove_in(axes, &p));
        let start = seen.unwrap_or(0);
        // `low` is proved, `high` is not, or is beyond what is asked. First outwards from the start, then by halves.
        let (mut low, mut high) = (i64::from(i32::MIN), i64::from(i32::MAX) + 1);
        let mut step = 1;
        if proved(start) {
            if seen.is_some() {
                return Some(start);
            }
            low = start;
            while low + step < high && proved(low + step) {
                low += step;
                step *= 2;
            }
            high = high.min(low + step);
        } else {
            if !proved(low) {
                return None;
            }
            high = high.min(start);
            while high - step > low && !proved(high - step) {
                high -= step;
                step *= 2;
            }
            low = low.max(high - step);
        }
        while low + 1 < high {
            let middle = low + (high - low) / 2;
            if proved(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }
}
