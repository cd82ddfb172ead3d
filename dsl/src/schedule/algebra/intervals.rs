//! Bounds of integers of data, from the ranges of dtypes and the operations on them.

use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::nest::Program;
use tilewright_launch::{DType, Numbers};

/// The least and the greatest number that a value can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) least: i128,
    pub(super) greatest: i128,
}

impl Interval {
    fn new(least: i128, greatest: i128) -> Interval {
        Interval { least, greatest }
    }

    /// Returns the integers of a dtype. For a float, these are the integers up to the first that it lacks.
    pub(super) fn of_dtype(dtype: DType) -> Interval {
        match dtype.numbers() {
            Numbers::Int { least, greatest } => Interval::new(least.into(), greatest.into()),
            Numbers::Bool => Interval::new(0, 1),
            Numbers::Float(format) => Interval::new(-(1 << format.digits), 1 << format.digits),
        }
    }

    pub(super) fn is_within(self, other: Interval) -> bool {
        other.least <= self.least && self.greatest <= other.greatest
    }

    fn either(self, other: Interval) -> Interval {
        Interval::new(self.least.min(other.least), self.greatest.max(other.greatest))
    }

    fn times(self, other: Interval) -> Interval {
        let [a, b] = [self, other].map(|side| [side.least, side.greatest]);
        let all = a.into_iter().flat_map(|a| b.map(|b| a * b));
        all.map(|n| Interval::new(n, n)).reduce(Interval::either).unwrap_or(self)
    }
}

/// Returns bounds of a value of data that is an integer or a bool.
pub(super) fn bounds(program: &Program, e: ExprId) -> Interval {
    let whole = Interval::of_dtype(program.exprs.dtype(e));
    exact(program, e).filter(|exact| exact.is_within(whole)).unwrap_or(whole)
}

/// Returns bounds of the exact result of the operation, before it is brought into its type. `None` if no bounds are known.
pub(super) fn exact(program: &Program, e: ExprId) -> Option<Interval> {
    let exprs = &program.exprs;
    let known = |e: ExprId| bounds(program, e);
    if !exprs.is_walkable(e) {
        return None;
    }
    match *exprs.get(e) {
        Expr::Const(c) => Some(Interval::new(c.value() as i128, c.value() as i128)),
        Expr::Axis(axis) => exprs.as_int(program.axes[axis].extent).map(|n| Interval::new(0, i128::from(n) - 1)),
        // The operands of other indices may exceed 32 bits.
        _ if exprs.is_index(e) => None,
        Expr::Cast(_, a) => (!exprs.dtype(a).is_float()).then(|| known(a)),
        Expr::Select(_, a, b) => Some(known(a).either(known(b))),
        Expr::Unary(Unary::Neg, a) => Some(Interval::new(-known(a).greatest, -known(a).least)),
        Expr::Unary(Unary::Abs, a) => {
            let a = known(a);
            Some(Interval::new(a.least.max(-a.greatest).max(0), a.greatest.max(-a.least)))
        }
        Expr::Unary(op, _) => op.range().map(|(least, greatest)| Interval::new(least.into(), greatest.into())),
        Expr::Binary(op, a, b) => {
            let (a, b) = (known(a), known(b));
            match op {
                Binary::Add => Some(Interval::new(a.least + b.least, a.greatest + b.greatest)),
                Binary::Sub => Some(Interval::new(a.least - b.greatest, a.greatest - b.least)),
                Binary::Mul => Some(a.times(b)),
                Binary::Min => Some(Interval::new(a.least.min(b.least), a.greatest.min(b.greatest))),
                Binary::Max => Some(Interval::new(a.least.max(b.least), a.greatest.max(b.greatest))),
                Binary::And => [a, b]
                    .into_iter()
                    .filter(|side| side.least >= 0)
                    .map(|side| side.greatest)
                    .min()
                    .map(|most| Interval::new(0, most)),
                _ => None,
            }
        }
        _ => None,
    }
}
