//! The Euclidean division of integers.

use crate::algorithm::{Checked, Checker};
use crate::diag::SpanId;
use crate::expr::{Binary, Compare, Const, ExprId, Exprs, Unary};
use tilewright_launch::DType;

impl Checker<'_> {
    /// Returns the remainder or the quotient of a Euclidean division.
    ///
    /// If the divisor is proved to be at least 1, the division rounds down, as `/` of indices does. Then the prover knows that the remainder of data is
    /// below the divisor.
    pub(super) fn euclidean(&mut self, remainder: bool, a: ExprId, b: ExprId, at: SpanId) -> Checked<ExprId> {
        let (is_index, is_by_index) = (self.is_index(a), self.is_index(b));
        if is_index && is_by_index {
            self.divisor(b, at)?;
        }
        let rounds_down = is_by_index && (is_index || self.at_least_one(b));
        let exprs = &self.program.exprs;
        if !rounds_down {
            return Ok(if remainder { rest(exprs, a, b) } else { quotient(exprs, a, b) });
        }
        let op = if remainder { Binary::FloorMod } else { Binary::FloorDiv };
        let result = exprs.binary(op, exprs.as_index(a), b);
        Ok(if is_index { result } else { exprs.cast(DType::I32, result) })
    }
}

/// Returns the remainder. A remainder of `%` that is negative is made positive by adding the divisor's absolute value. For the lowest
/// divisor, whose absolute value wraps, the sum wraps back.
fn rest(exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
    let rest = exprs.binary(Binary::Rem, a, b);
    if !exprs.dtype(a).is_signed_int() {
        return rest;
    }
    let more = exprs.sum(rest, exprs.unary(Unary::Abs, b));
    exprs.select(is_negative(exprs, rest), more, rest)
}

/// Returns the quotient. It is the one of `/`, or the next integer if the remainder of `%` is negative.
fn quotient(exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
    let quotient = exprs.binary(Binary::Div, a, b);
    if !exprs.dtype(a).is_signed_int() {
        return quotient;
    }
    let next = exprs.difference(quotient, exprs.unary(Unary::Sign, b));
    exprs.select(is_negative(exprs, exprs.binary(Binary::Rem, a, b)), next, quotient)
}

fn is_negative(exprs: &Exprs, a: ExprId) -> ExprId {
    let zero = exprs.constant(Const { dtype: exprs.dtype(a), bits: 0 });
    exprs.compare(Compare::Lt, a, zero)
}
