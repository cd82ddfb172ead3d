//! The prover: it decides claims about all sizes that a program admits, and all values of the axes in it.
//!
//! Indices are polynomials in dims and axes, whose floors, minima and selects are atoms (`atoms`). Facts are polynomials that
//! are at least 0, and equations replace atoms (`conditions`). A proof replaces atoms by their bounds until no term is negative
//! (`prove`). All of this is bounded: a claim that takes too long, overflows or is out of its scope is "not proved", and every
//! caller has a guard, a check at launch or an error for this case. A proved claim is true for the integers that the
//! expressions mean. Other code checks that these integers fit in 32 bits.
//!
//! A claim is about all points at which it has a meaning: the axes that it names are in range, so their extents are at least 1.
//! The axes that it does not name may be empty. A claim that names an axis without values is true.

mod context;
pub mod polynomials;
mod proof;
mod refutation;
pub(crate) mod sources;

pub use polynomials::poly::Poly;
pub use refutation::counterexample::Counterexample;

use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AxisId, Program};
use context::{Axes, Context};
use polynomials::atoms::Formula;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The axes that are variables of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum View {
    /// All axes.
    Roots,
    /// The axes that were not consumed. The others are computed from them.
    Leaves,
}

/// A side of a claim: an expression, a number, or a polynomial of the same prover.
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

/// A statement to prove.
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
    /// `a % c == 0`. It is not proved for a `c` below 1.
    Divides(i64, Operand<'a>),
}

/// Proves claims about a program's dims and axes. It uses the program as it was when the prover was made, except for new expressions.
#[derive(Debug)]
pub struct Prover<'p> {
    context: RefCell<Context<'p>>,
    /// The assumptions: each is a condition, and the value that it has.
    assumed: Vec<(ExprId, bool)>,
}

impl<'p> Prover<'p> {
    /// Makes a prover for which every axis is a variable within its own extent, even if it was consumed. Use it for the values that
    /// a stage computes, and for clamped values of axes.
    pub fn new(program: &'p Program) -> Prover<'p> {
        Prover::with_view(program, View::Roots)
    }

    /// Makes a prover for which a consumed axis is computed from its parts, so that it can be past its own extent if a split is
    /// inexact. Use it for addresses.
    pub fn on_leaves(program: &'p Program) -> Prover<'p> {
        Prover::with_view(program, View::Leaves)
    }

    fn with_view(program: &'p Program, view: View) -> Prover<'p> {
        Prover { context: RefCell::new(Context::loaded(program, view)), assumed: Vec::new() }
    }

    /// Returns a prover that also knows that the bool `cond` holds, or that it does not if `holds` is false. It understands
    /// comparisons of indices joined by `&&`, `||` and `!`, and ignores other parts. Its claims are about points where the
    /// condition is evaluated: the axes that the condition names are in range in every claim.
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

    /// Returns a prover whose claims and assumptions may also be about data: the values of tensors and scalar arguments.
    pub fn about_data(&self) -> Prover<'p> {
        let mut context = self.context.borrow().fork();
        context.read_data();
        Prover { context: RefCell::new(context), assumed: self.assumed.clone() }
    }

    /// Returns a prover for points at which an expression is defined: its divisors are not 0, and the axes of the divisors are in
    /// range. If the expression contains a select, neither is assumed, because a divisor may be evaluated in one case only.
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

    /// Returns a prover that knows only the algorithm, without the conditions of the schedule's header and directives. Facts can
    /// make a claim harder to prove.
    pub fn without_facts(&self) -> Prover<'p> {
        let known = self.context.borrow();
        let mut context = Context::new(known.program, known.view);
        context.load(&|_| false);
        Prover { context: RefCell::new(context), assumed: Vec::new() }
    }

    /// Returns a prover for which these axes, too, are in range: for example, the axes of the loops around a place.
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

    /// Returns a copy. The answers of a prover may depend on earlier questions. If a pass and the verifier must agree, each asks a
    /// fresh copy of a prover that is never asked itself.
    #[must_use]
    pub fn afresh(&self) -> Prover<'p> {
        self.within([])
    }

    /// Proves `a >= 0`.
    pub fn nonneg<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        self.less_equal(0, a)
    }

    /// Proves `a >= 1`.
    pub fn positive<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        self.less_equal(1, a)
    }

    /// Proves `a != 0`.
    pub fn nonzero<'a>(&self, a: impl Into<Operand<'a>>) -> bool {
        let a = a.into();
        self.less(0, a) || self.less(a, 0)
    }

    /// Proves `a >= least`.
    pub fn at_least<'a>(&self, a: impl Into<Operand<'a>>, least: i64) -> bool {
        self.less_equal(least, a)
    }

    /// Proves `a < b`.
    pub fn less<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Less(a.into(), b.into()))
    }

    /// Proves `a + distance <= b`.
    pub fn less_by<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>, distance: i64) -> bool {
        self.context.borrow_mut().proves_order(a.into(), b.into(), distance)
    }

    /// Proves `a <= b`.
    pub fn less_equal<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::LessEqual(a.into(), b.into()))
    }

    /// Proves `a == b`.
    pub fn equal<'a>(&self, a: impl Into<Operand<'a>>, b: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Equal(a.into(), b.into()))
    }

    /// Proves `0 <= index && index < extent`.
    pub fn inside<'a>(&self, index: impl Into<Operand<'a>>, extent: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Inside(index.into(), extent.into()))
    }

    /// Proves `a % c == 0`. False for a `c` below 1.
    pub fn divides<'a>(&self, c: i64, a: impl Into<Operand<'a>>) -> bool {
        self.proves(Claim::Divides(c, a.into()))
    }

    /// True if a claim is proved.
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

    /// Returns an expression as a polynomial. `None` if it depends on data, or is not a polynomial of atoms.
    pub fn poly(&self, e: ExprId) -> Option<Poly> {
        self.context.borrow_mut().poly(e)
    }

    /// Returns the least upper bound that is proved.
    pub fn upper<'a>(&self, a: impl Into<Operand<'a>>) -> Option<i64> {
        let mut context = self.context.borrow_mut();
        let a = a.into();
        let axes = context.operand_axes([a]);
        let negated = context.operand(a)?.neg()?;
        let clamped = context.clamped(a).and_then(|e| context.upper_clamped(&axes, e)?.checked_neg());
        context.greatest_lower_from(&axes, &negated, clamped)?.checked_neg()
    }

    /// Returns the greatest lower bound that is proved.
    pub fn lower<'a>(&self, a: impl Into<Operand<'a>>) -> Option<i64> {
        let mut context = self.context.borrow_mut();
        let a = a.into();
        let axes = context.operand_axes([a]);
        let p = context.operand(a)?;
        let clamped = context.clamped(a).and_then(|e| context.lower_clamped(&axes, e));
        context.greatest_lower_from(&axes, &p, clamped)
    }

    /// Returns a minimal set of the program's conditions that no sizes satisfy together, as indices into `Checks::conditions`. A
    /// single condition contradicts the definition of a derived dim, or that dims are not negative.
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
        sources::conditions::contradicting(absurd, program.checks.conditions.len())
    }

    /// True if the conditions and assumptions provably contradict each other, so that no sizes satisfy them.
    pub fn is_impossible(&self) -> bool {
        self.context.borrow_mut().is_absurd()
    }

    /// True if the other conditions imply a condition, which is given by its index in `Checks::conditions`.
    pub fn is_redundant(&self, condition: usize) -> bool {
        let (program, view) = {
            let context = self.context.borrow();
            (context.program, context.view)
        };
        let Some(claim) = program.checks.conditions.get(condition) else { return false };
        let mut context = Context::new(program, view);
        context.load(&|i| i != condition);
        context.holds(claim)
    }
}

impl Context<'_> {
    /// Proves `a + distance <= b`.
    fn proves_order(&mut self, a: Operand<'_>, b: Operand<'_>, distance: i64) -> bool {
        let difference = self.operand(b).zip(self.operand(a)).and_then(|(b, a)| b.sub(&a)?.plus(-distance));
        if difference.as_ref().and_then(Poly::as_constant).is_some_and(|rest| rest >= 0) {
            return true;
        }
        let axes = self.operand_axes([a, b]);
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
            // The polynomial may come from the prover that this one was made from, before its assumptions.
            Operand::Poly(p) => self.resolve(p),
        }
    }

    /// Returns the axes that operands name, at any depth.
    fn operand_axes<'a>(&mut self, operands: impl IntoIterator<Item = Operand<'a>>) -> Axes {
        let mut axes = Axes::default();
        for operand in operands {
            let more = match operand {
                Operand::Expr(e) => self.axes_of(e),
                Operand::Poly(p) => Rc::new(self.axes_in([p])),
                Operand::Int(_) => continue,
            };
            if axes.is_subset(&more) {
                axes = more;
            } else if !more.is_subset(&axes) {
                Rc::make_mut(&mut axes).extend(more.iter());
            }
        }
        axes
    }

    /// Returns the greatest 32-bit lower bound of `p` that is proved. `known` is a lower bound that was proved by other means.
    fn greatest_lower_from(&mut self, axes: &BTreeSet<AxisId>, p: &Poly, known: Option<i64>) -> Option<i64> {
        // If `p` has this value somewhere, no greater bound holds.
        let is_reached = |cx: &mut Self| known.is_some() && cx.least_seen(axes, p) == known.map(i128::from);
        if is_reached(self) { known } else { self.greatest_lower(axes, p).max(known) }
    }

    /// Returns the greatest 32-bit lower bound of `p` that is proved.
    fn greatest_lower(&mut self, axes: &BTreeSet<AxisId>, p: &Poly) -> Option<i64> {
        if let Some(c) = p.as_constant() {
            return i64::try_from(c).ok();
        }
        // The search starts from the least value at the sample points, because it is often the bound.
        let seen = self.least_seen(axes, p).and_then(|v| i64::try_from(v).ok());
        let mut proved = |low: i64| p.plus(-low).is_some_and(|p| self.prove_in(axes, &p));
        let start = seen.unwrap_or(0);
        // `low` is proved. `high` is not proved, or is above all 32-bit numbers. The search goes outwards from the start, and then
        // bisects.
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
