//! Translation of expressions to polynomials and formulas.
//!
//! Indices are integers without a width. Arithmetic on data wraps, so its sums and products are not translated. Data that was
//! converted from an index is translated through operations that cannot make it larger.

use super::atoms::Formula;
use super::poly::{Poly, Polys};
use crate::expr::rules::{ABS_BY_MAX, Claim, QUOT_IS_FLOOR, REM_IS_MOD, Term};
use crate::expr::{Binary, Compare, Expr, ExprId, Unary};
use crate::facts::View;
use crate::facts::context::Context;
use crate::nest::AxisId;
use crate::nest::meaning::{self, IndexAlgebra};
use tilewright_launch::DType;

/// The maximum depth of an index expression. It is limited, because the translation is recursive and runs on the stack of the user's rustc.
const MAX_DEPTH: u32 = 120;

/// The most parts of a condition that are translated. Shared parts count each time, because a formula repeats them.
const MAX_PARTS: u32 = 256;

impl Context<'_> {
    /// Returns an expression as a polynomial. `None` if it depends on data, or is not a polynomial of atoms.
    pub(in crate::facts) fn poly(&mut self, e: ExprId) -> Option<Poly> {
        if let Some(known) = self.translated.get(&e) {
            return known.clone();
        }
        if self.depth >= MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let poly = self.translate(e);
        self.depth -= 1;
        self.translated.insert(e, poly.clone());
        poly
    }

    fn translate(&mut self, e: ExprId) -> Option<Poly> {
        let dtype = self.program.exprs.dtype(e);
        if !dtype.is_word() {
            return None;
        }
        if let Some(element) = self.tabled(e) {
            return Some(element);
        }
        let known = match self.program.exprs.get(e).clone() {
            Expr::Const(c) if dtype != DType::U32 => Some(Poly::constant(c.bits as i32)),
            Expr::Const(c) => Some(Poly::constant(c.bits)),
            Expr::Axis(axis) => self.axis(axis),
            Expr::Dim(dim) => self.dim(dim),
            Expr::Unary(Unary::Neg, a) if self.program.exprs.is_index(e) => self.poly(a)?.neg(),
            Expr::Unary(Unary::Abs, a) if self.program.exprs.is_index(e) => {
                let a = self.poly(a)?;
                ABS_BY_MAX.result(self, &[&a])
            }
            Expr::Unary(Unary::Index, a) => self.poly(a),
            Expr::Binary(op, a, b) => self.binary(e, dtype, op, a, b),
            Expr::Cast(_, a) => self.cast(dtype, a),
            Expr::Select(cond, a, b) => {
                let (then, other) = (self.poly(a)?, self.poly(b)?);
                let (yes, no) = (self.formula(cond, true), self.formula(cond, false));
                self.choice(yes, no, then, other)
            }
            _ => None,
        };
        match known {
            None if !self.program.exprs.is_index(e) => self.datum(e, dtype),
            known => known,
        }
    }

    fn binary(&mut self, e: ExprId, dtype: DType, op: Binary, a: ExprId, b: ExprId) -> Option<Poly> {
        let (p, q) = (self.poly(a)?, self.poly(b)?);
        let wraps = dtype != DType::I32 || !self.program.exprs.is_index(e);
        match op {
            Binary::Add | Binary::Sub | Binary::Mul => {
                let exact = self.apply(op, p, q).ok();
                if wraps { self.fitting(e, dtype, exact) } else { exact }
            }
            Binary::Min => self.min(&p, &q),
            Binary::Max => self.max(&p, &q),
            Binary::Div | Binary::Rem => {
                let (axes, rule) = (self.axes_of(e), if op == Binary::Div { &QUOT_IS_FLOOR } else { &REM_IS_MOD });
                let floors = rule.applies(&mut Polys, &[&p, &q], |p| self.prove_in(&axes, p));
                if floors { rule.result(self, &[&p, &q]) } else { None }
            }
            Binary::FloorDiv | Binary::FloorMod => {
                let axes = self.axes_of(e);
                if !self.prove_in(&axes, &q.plus(-1)?) {
                    return None;
                }
                if op == Binary::FloorDiv { self.floor(&p, &q) } else { self.modulo(&p, &q) }
            }
            _ => None,
        }
    }

    /// Translates a conversion to `i32` or `u32` that keeps the value: of an index within 31 bits, or of data converted from such
    /// an index.
    fn cast(&mut self, to: DType, from: ExprId) -> Option<Poly> {
        let exprs = &self.program.exprs;
        if !exprs.dtype(from).is_word() || !to.is_word() {
            return None;
        }
        let p = self.poly(from)?;
        if exprs.is_index(from) && !self.is_small(from) {
            return None;
        }
        let axes = self.axes_of(from);
        // A value that is not negative is the same in both types. Literals of `u32` can exceed `i32`.
        let is_same = exprs.dtype(from).is_signed_int() == to.is_signed_int();
        let kept = is_same || self.prove_in(&axes, &p);
        if self.data.is_some() && kept && !is_same {
            return self.fitting(from, to, Some(p));
        }
        let large = exprs.any(from, &mut |e| matches!(e, Expr::Const(c) if c.dtype == DType::U32 && c.bits > i32::MAX as u32));
        (kept && !large).then_some(p)
    }

    /// True if an index fits in 31 bits, because dims and the users' literals do and none of its operations makes it larger than these. For
    /// quotients, the rules are [`FLOOR_AT_MOST`](crate::expr::rules::FLOOR_AT_MOST) and
    /// [`FLOOR_AT_LEAST`](crate::expr::rules::FLOOR_AT_LEAST).
    fn is_small(&self, e: ExprId) -> bool {
        let (axes, exprs) = (&self.program.axes, &self.program.exprs);
        match exprs.get(e) {
            _ if !exprs.is_walkable(e) => false,
            Expr::Const(_) | Expr::Dim(_) => true,
            Expr::Axis(axis) => self.is_small(axes[*axis].extent),
            Expr::Binary(Binary::FloorDiv, a, _) => self.is_small(*a),
            Expr::Binary(Binary::FloorMod, _, b) => self.is_small(*b),
            Expr::Binary(Binary::Min | Binary::Max, a, b) | Expr::Select(_, a, b) => self.is_small(*a) && self.is_small(*b),
            _ => false,
        }
    }

    /// Returns the value of an axis in this view.
    pub(in crate::facts) fn axis(&mut self, axis: AxisId) -> Option<Poly> {
        if self.view == View::Roots {
            return self.axis_atom(axis);
        }
        meaning::value(self.program, axis, self).ok()
    }

    /// True if a divisor is proved to be at least 1 wherever a quotient by it is used.
    fn can_divide(&mut self, a: &Poly, by: &Poly) -> bool {
        let axes = self.axes_in([a, by]);
        by.plus(-1).is_some_and(|less| self.prove_in(&axes, &less))
    }

    /// Returns the formula that a condition holds, or that it does not.
    pub(in crate::facts) fn formula(&mut self, cond: ExprId, holds: bool) -> Formula {
        self.formula_of(cond, holds, &mut { MAX_PARTS })
    }

    /// Translates at most `left` parts of a condition. The others are unknown.
    fn formula_of(&mut self, cond: ExprId, holds: bool, left: &mut u32) -> Formula {
        if self.depth >= MAX_DEPTH || *left == 0 {
            return Formula::Unknown;
        }
        (self.depth, *left) = (self.depth + 1, *left - 1);
        let formula = self.read_formula(cond, holds, left);
        self.depth -= 1;
        formula
    }

    fn read_formula(&mut self, cond: ExprId, holds: bool, left: &mut u32) -> Formula {
        match self.program.exprs.get(cond).clone() {
            Expr::Const(c) if c.dtype == DType::Bool => {
                let holds = (c.bits != 0) == holds;
                Formula::NonNeg(Poly::constant(if holds { 0 } else { -1 }))
            }
            Expr::Compare(op, a, b) => {
                // Comparisons of floats and bools stay unknown, because their operands are not polynomials.
                let difference = self.poly(a).zip(self.poly(b)).and_then(|(a, b)| a.sub(&b));
                difference.and_then(|d| comparison(op, &d, holds)).unwrap_or(Formula::Unknown)
            }
            Expr::Unary(Unary::Not, a) => self.formula_of(a, !holds, left),
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) => {
                let parts = vec![self.formula_of(a, holds, left), self.formula_of(b, holds, left)];
                if (op == Binary::And) == holds { Formula::All(parts) } else { Formula::Any(parts) }
            }
            Expr::Select(cond, a, b) => {
                let yes = Formula::All(vec![self.formula_of(cond, true, left), self.formula_of(a, holds, left)]);
                let no = Formula::All(vec![self.formula_of(cond, false, left), self.formula_of(b, holds, left)]);
                Formula::Any(vec![yes, no])
            }
            _ => Formula::Unknown,
        }
    }
}

/// Polynomials over the axes of this view.
impl IndexAlgebra for Context<'_> {
    type Index = Poly;
    type Failure = ();

    /// The components' floors nest, and the components add up to the whole.
    const NESTED: bool = true;

    fn apply(&mut self, op: Binary, a: Poly, b: Poly) -> Result<Poly, ()> {
        let value = match op {
            Binary::Add => a.add(&b),
            Binary::Sub => a.sub(&b),
            Binary::Mul => a.mul(&b),
            Binary::Min => self.min(&a, &b),
            Binary::FloorDiv if self.can_divide(&a, &b) => self.floor(&a, &b),
            Binary::FloorMod if self.can_divide(&a, &b) => self.modulo(&a, &b),
            _ => None,
        };
        value.ok_or(())
    }

    fn extent(&mut self, axis: AxisId) -> Result<Poly, ()> {
        self.poly(self.program.axes[axis].extent).ok_or(())
    }

    fn axis(&mut self, axis: AxisId) -> Result<Poly, ()> {
        Context::axis(self, axis).ok_or(())
    }

    fn live(&mut self, axis: AxisId) -> Result<Poly, ()> {
        self.axis_atom(axis).ok_or(())
    }
}

/// Returns the formula of a comparison of `difference` with 0, by
/// [`AT_LEAST_BY_DIFFERENCE`](crate::expr::rules::AT_LEAST_BY_DIFFERENCE) and
/// [`ABOVE_BY_DIFFERENCE`](crate::expr::rules::ABOVE_BY_DIFFERENCE).
pub(in crate::facts) fn comparison(op: Compare, difference: &Poly, holds: bool) -> Option<Formula> {
    let op = if holds { op } else { op.negated() };
    Some(match op {
        Compare::Eq => Formula::Zero(difference.clone()),
        Compare::Ne => Formula::NonZero(difference.clone()),
        Compare::Ge | Compare::Gt | Compare::Le | Compare::Lt => {
            let claim = Claim { left: Term::Var(0), relation: op, right: Term::Int(0) };
            Formula::NonNeg(claim.difference(&mut Polys, &[difference])?)
        }
    })
}
