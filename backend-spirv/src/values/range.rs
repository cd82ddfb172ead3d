//! The range of an integer operation's result.
//!
//! Ranges of index arithmetic assume that it does not wrap: the launch checks that every tensor's elements and every
//! rounded-up range are below 2^31. What is read from memory, or is a scalar argument, has the range of all `i32`; what is made of
//! it wraps where its range leaves that.

use super::{ANY, Op, Operands, Values};
use tilewright_dsl::expr::Binary;

impl Values {
    pub(crate) fn op_range(&self, op: Op, operands: &Operands) -> (i64, i64) {
        let of = |n: usize| operands.get(n).map_or(ANY, |v| self.node(*v).range);
        let (a, b) = (of(0), of(1));
        match op {
            Op::Splat(_) | Op::Extract(_) | Op::Part(_) => a,
            Op::Select => (b.0.min(of(2).0), b.1.max(of(2).1)),
            Op::Join => operands.iter().map(|v| self.node(*v).range).fold(a, |x, y| (x.0.min(y.0), x.1.max(y.1))),
            Op::Binary(Binary::Min) => (a.0.min(b.0), a.1.min(b.1)),
            Op::Binary(Binary::Max) => (a.0.max(b.0), a.1.max(b.1)),
            Op::Binary(Binary::FloorMod) => (0, (b.1 - 1).max(0)),
            Op::Binary(Binary::FloorDiv) if a.0 >= 0 => (0, a.1 / b.0.max(1)),
            Op::Binary(Binary::Mul) => {
                let (range, data) = (product(a, b), operands.iter().any(|v| self.node(*v).data));
                if data && (range.0 < ANY.0 || range.1 > ANY.1) { ANY } else { range }
            }
            _ => ANY,
        }
    }

    /// Whether it is at least 0.
    pub(crate) fn nonnegative(&self, id: super::ValueId) -> bool {
        self.node(id).range.0 >= 0
    }
}

/// The range of a sum.
pub(crate) fn plus(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    (a.0.saturating_add(b.0), a.1.saturating_add(b.1))
}

/// The range of a product.
pub(crate) fn product(a: (i64, i64), b: (i64, i64)) -> (i64, i64) {
    // Most are sizes and counts.
    if a.0 >= 0 && b.0 >= 0 {
        return (a.0.saturating_mul(b.0), a.1.saturating_mul(b.1));
    }
    let corners = [a.0.saturating_mul(b.0), a.0.saturating_mul(b.1), a.1.saturating_mul(b.0), a.1.saturating_mul(b.1)];
    let least = corners.into_iter().fold(i64::MAX, i64::min);
    let most = corners.into_iter().fold(i64::MIN, i64::max);
    (least, most)
}
