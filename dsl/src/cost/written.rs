//! Evaluates a value in one copy of the unrolled loops around it. In a copy, the loops' axes are numbers, so that `select`s on them are
//! decided, and quotients that depend on the copy's position in a tile are known. So copies share values that differ only by name, such as
//! `oh / 2` in both rows of a tile, and a row that no copy selects is not computed. The emitter finds the same values.

use crate::expr::{Binary, Compare, Const, Expr, ExprId, Exprs};
use crate::launch::DType;
use crate::nest::{AxisDef, AxisId, Fate, Pred, Program};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A copy of unrolled loops.
pub(super) struct Written<'p> {
    program: &'p Program,
    /// The values of the loops' axes in this copy.
    pub(super) numbers: HashMap<AxisId, i64>,
    /// The axes of all enclosing loops.
    bound: HashSet<AxisId>,
    preds: &'p [Pred],
    known: HashMap<ExprId, ExprId>,
}

/// A sum of multiples of expressions, and a constant.
#[derive(Default)]
struct Sum {
    terms: BTreeMap<ExprId, i64>,
    constant: i64,
}

/// True if a value can simplify in a copy: it contains `select`s, quotients, or components of fused axes.
pub(super) fn can_differ(program: &Program, value: ExprId) -> bool {
    program.exprs.any(value, &mut |e| match e {
        Expr::Select(..) | Expr::Binary(Binary::FloorDiv | Binary::FloorMod, ..) => true,
        Expr::Axis(axis) => is_digit(program, *axis),
        _ => false,
    })
}

/// True if an axis is computed from a component of a fused axis.
fn is_digit(program: &Program, axis: AxisId) -> bool {
    match &program.axes[axis].fate {
        Fate::Live => false,
        Fate::Split(split) => split.parts.iter().any(|part| is_digit(program, *part)),
        Fate::Fused { .. } => true,
    }
}

impl<'p> Written<'p> {
    pub(super) fn new(
        program: &'p Program,
        numbers: HashMap<AxisId, i64>,
        bound: HashSet<AxisId>,
        preds: &'p [Pred],
    ) -> Written<'p> {
        Written { program, numbers, bound, preds, known: HashMap::new() }
    }

    fn exprs(&self) -> &'p Exprs {
        &self.program.exprs
    }

    /// Returns the value of an expression in this copy, over the axes of the remaining loops.
    pub(super) fn value(&mut self, id: ExprId) -> ExprId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let exprs = self.exprs();
        let new = match exprs.get(id).clone() {
            Expr::Axis(axis) => self.axis(axis),
            Expr::Select(cond, yes, no) => self.choice(cond, yes, no),
            Expr::Compare(op, a, b) => {
                let (x, y) = (self.value(a), self.value(b));
                let known = if exprs.is_index(x) && exprs.is_index(y) { compared(self.program, op, x, y) } else { None };
                known.map_or_else(|| exprs.compare(op, x, y), |holds| boolean(exprs, holds))
            }
            Expr::Binary(op, a, b) if exprs.is_index(id) => {
                let (x, y) = (self.value(a), self.value(b));
                self.index(op, x, y)
            }
            Expr::Binary(op @ (Binary::And | Binary::Or), a, b) if exprs.dtype(id) == DType::Bool => {
                let (x, y) = (self.value(a), self.value(b));
                match (as_bool(exprs, x), as_bool(exprs, y)) {
                    (Some(known), _) => {
                        if known == (op == Binary::And) {
                            y
                        } else {
                            x
                        }
                    }
                    (_, Some(known)) => {
                        if known == (op == Binary::And) {
                            x
                        } else {
                            y
                        }
                    }
                    _ => exprs.binary(op, x, y),
                }
            }
            other => {
                let mapped = other.map(&mut |operand| self.value(operand));
                exprs.add(mapped, exprs.dtype(id))
            }
        };
        self.known.insert(id, new);
        new
    }

    /// Returns the selected value of a `select`, if its condition is known.
    fn choice(&mut self, cond: ExprId, yes: ExprId, no: ExprId) -> ExprId {
        let cond = self.value(cond);
        match as_bool(self.exprs(), cond) {
            Some(true) => self.value(yes),
            Some(false) => self.value(no),
            None => match (self.value(yes), self.value(no)) {
                (a, b) if a == b => a,
                (a, b) => self.exprs().select(cond, a, b),
            },
        }
    }

    /// Returns an axis's value, clamped if it has a predicate.
    fn axis(&mut self, axis: AxisId) -> ExprId {
        let value = self.unclamped(axis);
        if !self.preds.iter().any(|pred| pred.axis == axis) {
            return value;
        }
        let one = self.exprs().int(1);
        let last = self.index(Binary::Sub, self.program.axes[axis].extent, one);
        self.index(Binary::Min, value, last)
    }

    fn unclamped(&mut self, axis: AxisId) -> ExprId {
        if let Some(number) = self.numbers.get(&axis) {
            return self.exprs().int(*number);
        }
        if self.bound.contains(&axis) {
            return self.exprs().axis(axis);
        }
        match &self.program.axes[axis].fate {
            Fate::Live => self.exprs().int(0),
            Fate::Split(split) => {
                if let Some([tile, point]) = split.shifted() {
                    let length = self.program.axes[point].extent;
                    let last = self.index(Binary::Sub, self.program.axes[axis].extent, length);
                    let tile = self.axis(tile);
                    let start = self.index(Binary::Mul, tile, length);
                    let start = self.index(Binary::Min, start, last);
                    let point = self.axis(point);
                    return self.index(Binary::Add, start, point);
                }
                split.parts.iter().fold(self.exprs().int(0), |value, part| {
                    let scaled = self.index(Binary::Mul, value, self.program.axes[*part].extent);
                    let digit = self.axis(*part);
                    self.index(Binary::Add, scaled, digit)
                })
            }
            Fate::Fused { into, digit, .. } => {
                let whole = self.axis(*into);
                self.digit(*into, *digit, whole)
            }
        }
    }

    /// Returns a component of a fused axis's value.
    fn digit(&mut self, fused: AxisId, digit: usize, whole: ExprId) -> ExprId {
        let AxisDef::Fused(digits) = &self.program.axes[fused].def else { return whole };
        let extent = |axis: &AxisId| self.program.axes[*axis].extent;
        let later = digits[digit + 1..].iter().fold(self.exprs().int(1), |all, axis| self.exprs().product(all, extent(axis)));
        let own = extent(&digits[digit]);
        let quotient = self.index(Binary::FloorDiv, whole, later);
        if digit == 0 { quotient } else { self.index(Binary::FloorMod, quotient, own) }
    }

    /// Applies an operation to indices. The result is a sum of multiples if possible.
    fn index(&self, op: Binary, a: ExprId, b: ExprId) -> ExprId {
        self.sum(op, a, b).and_then(|sum| sum.expr(self.exprs())).unwrap_or_else(|| self.exprs().binary(op, a, b))
    }

    fn sum(&self, op: Binary, a: ExprId, b: ExprId) -> Option<Sum> {
        let exprs = self.exprs();
        let number = |id: ExprId| exprs.as_int(id);
        match op {
            Binary::Add => Sum::of(exprs, a)?.plus(&Sum::of(exprs, b)?, 1),
            Binary::Sub => Sum::of(exprs, a)?.plus(&Sum::of(exprs, b)?, -1),
            Binary::Mul => match (number(a), number(b)) {
                (Some(n), _) => Sum::default().plus(&Sum::of(exprs, b)?, n),
                (_, Some(n)) => Sum::default().plus(&Sum::of(exprs, a)?, n),
                _ => None,
            },
            Binary::FloorDiv | Binary::FloorMod => {
                let by = number(b).filter(|by| *by > 0)?;
                let (whole, rest) = Sum::of(exprs, a)?.divided(by);
                let (least, most) = rest.range(self.program)?;
                let is_digit = least >= 0 && most < by;
                is_digit.then_some(if op == Binary::FloorDiv { whole } else { rest })
            }
            Binary::Min | Binary::Max => {
                let less = compared(self.program, Compare::Le, a, b)?;
                Sum::of(exprs, if less == (op == Binary::Min) { a } else { b })
            }
            _ => None,
        }
    }
}

impl Sum {
    /// Returns an index as a sum of multiples, in which every other subexpression is a term. Returns `None` if it does not fit in 64 bits.
    fn of(exprs: &Exprs, id: ExprId) -> Option<Sum> {
        let two = |a: ExprId, b: ExprId, times: i64| Sum::of(exprs, a)?.plus(&Sum::of(exprs, b)?, times);
        match *exprs.get(id) {
            _ if !exprs.is_walkable(id) => None,
            Expr::Binary(Binary::Add, a, b) => two(a, b, 1),
            Expr::Binary(Binary::Sub, a, b) => two(a, b, -1),
            Expr::Binary(Binary::Mul, a, b) if exprs.as_int(a).is_some() => {
                Sum::default().plus(&Sum::of(exprs, b)?, exprs.as_int(a)?)
            }
            Expr::Binary(Binary::Mul, a, b) if exprs.as_int(b).is_some() => {
                Sum::default().plus(&Sum::of(exprs, a)?, exprs.as_int(b)?)
            }
            _ => Some(match exprs.as_int(id) {
                Some(constant) => Sum { constant, ..Sum::default() },
                None => Sum { terms: BTreeMap::from([(id, 1)]), constant: 0 },
            }),
        }
    }

    /// Adds a multiple of another sum.
    fn plus(mut self, other: &Sum, times: i64) -> Option<Sum> {
        for (term, n) in &other.terms {
            let count = self.terms.entry(*term).or_default();
            *count = count.checked_add(n.checked_mul(times)?)?;
        }
        self.terms.retain(|_, n| *n != 0);
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        Some(self)
    }

    /// Splits the sum into the quotient of the terms that a number divides, and the remaining terms.
    fn divided(self, by: i64) -> (Sum, Sum) {
        let mut whole = Sum { constant: self.constant.div_euclid(by), ..Sum::default() };
        let mut rest = Sum { constant: self.constant.rem_euclid(by), ..Sum::default() };
        for (term, n) in self.terms {
            if n % by == 0 {
                whole.terms.insert(term, n / by)
            } else {
                rest.terms.insert(term, n)
            };
        }
        (whole, rest)
    }

    /// Returns the least and the greatest value of the sum, if its terms are axes with literal extents, or remainders by literals.
    fn range(&self, program: &Program) -> Option<(i64, i64)> {
        let mut range = (self.constant, self.constant);
        for (term, n) in &self.terms {
            let count = match *program.exprs.get(*term) {
                Expr::Axis(axis) => program.exprs.as_int(program.axes[axis].extent)?,
                Expr::Binary(Binary::FloorMod, _, by) => program.exprs.as_int(by).filter(|by| *by > 0)?,
                _ => return None,
            };
            let most = n.checked_mul(count.checked_sub(1)?.max(0))?;
            range = (range.0.checked_add(most.min(0))?, range.1.checked_add(most.max(0))?);
        }
        Some(range)
    }

    /// Returns the sum as an index. Equal sums give the same expression. Returns `None` if a factor does not fit in a literal.
    fn expr(&self, exprs: &Exprs) -> Option<ExprId> {
        let literal = |n: i64| i32::try_from(n).ok().map(|n| exprs.int(n.into()));
        let mut total = exprs.int(0);
        for (term, n) in &self.terms {
            total = exprs.sum(total, exprs.product(*term, literal(*n)?));
        }
        Some(exprs.sum(total, literal(self.constant)?))
    }
}

/// Returns the result of a comparison of two indices, if it is known.
fn compared(program: &Program, op: Compare, a: ExprId, b: ExprId) -> Option<bool> {
    let difference = Sum::of(&program.exprs, a)?.plus(&Sum::of(&program.exprs, b)?, -1)?;
    let (least, most) = difference.range(program)?;
    let known = |holds: bool, fails: bool| if holds { Some(true) } else { fails.then_some(false) };
    match op {
        Compare::Lt => known(most < 0, least >= 0),
        Compare::Le => known(most <= 0, least > 0),
        Compare::Gt => known(least > 0, most <= 0),
        Compare::Ge => known(least >= 0, most < 0),
        Compare::Eq => known((least, most) == (0, 0), least > 0 || most < 0),
        Compare::Ne => known(least > 0 || most < 0, (least, most) == (0, 0)),
    }
}

fn as_bool(exprs: &Exprs, id: ExprId) -> Option<bool> {
    match exprs.get(id) {
        Expr::Const(c) if c.dtype == DType::Bool => Some(c.bits != 0),
        _ => None,
    }
}

fn boolean(exprs: &Exprs, value: bool) -> ExprId {
    exprs.constant(Const { dtype: DType::Bool, bits: u32::from(value) })
}
