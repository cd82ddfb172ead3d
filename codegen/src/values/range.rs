//! The range of an integer operation's result.
//!
//! An index has the range of the exact integer, which can leave 32 bits. Data wraps: if arithmetic on data can leave 32 bits, the
//! range of the result is unknown, which is [`REACH`]. A `u32` has a range if all its values are below 2^31, so that they are the
//! same numbers in `i32`.
//!
//! [`Bounds`] has the arithmetic. The rules about the ends of quotients and remainders are
//! [`FLOOR_LOW_END`](tilewright_dsl::expr::rules::FLOOR_LOW_END), [`FLOOR_NEGATIVE_END`](tilewright_dsl::expr::rules::FLOOR_NEGATIVE_END),
//! [`MOD_HIGH_END`](tilewright_dsl::expr::rules::MOD_HIGH_END) and [`MOD_AT_MOST`](tilewright_dsl::expr::rules::MOD_AT_MOST), and those
//! about bits are [`AND_NONNEG`](tilewright_dsl::expr::rules::AND_NONNEG), [`AND_AT_MOST`](tilewright_dsl::expr::rules::AND_AT_MOST),
//! [`OR_BELOW_POWER`](tilewright_dsl::expr::rules::OR_BELOW_POWER) and [`XOR_BELOW_POWER`](tilewright_dsl::expr::rules::XOR_BELOW_POWER).

use super::{Op, Operands, ValueId, Values};
use crate::narrow::numbers;
use tilewright_dsl::expr::rules::Algebra;
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::{Bounds, DType, REACH};

/// The values of a `u32` of unknown range.
const UNSIGNED: Bounds = Bounds(0, u32::MAX as i64);

/// Terms of rules as ranges. A condition holds if the range of its difference is not negative.
pub(super) struct Ranges;

impl Algebra for Ranges {
    type Value = Bounds;

    fn int(&mut self, n: i64) -> Option<Bounds> {
        Some(Bounds::of(n))
    }

    fn apply(&mut self, op: Binary, a: &Bounds, b: &Bounds) -> Option<Bounds> {
        match op {
            Binary::Add => Some(a.plus(*b)),
            Binary::Sub => Some(a.minus(*b)),
            _ => None,
        }
    }
}

impl Values {
    /// Returns the range of an operation's result of type `dtype`.
    pub(super) fn op_range(&self, op: Op, operands: &Operands, dtype: DType) -> Bounds {
        match dtype {
            DType::I32 => {
                let range = self.exact_range(op, operands);
                let wraps = operands.iter().any(|v| self.node(*v).data) && !range.is_within(REACH);
                if wraps { REACH } else { range }
            }
            DType::U32 => same_in_i32(self.exact_range(op, operands)),
            _ => REACH,
        }
    }

    /// Returns the range of the result as an exact integer, before it wraps.
    fn exact_range(&self, op: Op, operands: &Operands) -> Bounds {
        let of = |n: usize| operands.get(n).map_or(REACH, |v| self.number_range(*v));
        let (a, b) = (of(0), of(1));
        match op {
            Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Index => a,
            Op::Narrow(to) => {
                if a.is_within(numbers(to)) {
                    a
                } else {
                    numbers(to)
                }
            }
            Op::Dot { .. } => a.times(b).times(Bounds::of(4)),
            Op::Select => b.either(of(2)),
            Op::Join => operands.iter().map(|v| self.number_range(*v)).fold(a, Bounds::either),
            Op::Binary(Binary::Min) => a.least(b),
            Op::Binary(Binary::Max) => a.most(b),
            Op::Binary(Binary::FloorMod) => a.modulo(b),
            Op::Binary(Binary::FloorDiv) => a.over(b),
            Op::Binary(Binary::Add) => a.plus(b),
            Op::Binary(Binary::Sub) => a.minus(b),
            Op::Binary(Binary::Shr) if b.0 == b.1 && (0..32).contains(&b.0) && a.is_within(REACH) => Bounds(a.0 >> b.0, a.1 >> b.0),
            Op::Binary(Binary::Mul) => a.times(b),
            // Of numbers that are not negative. By 0, both are 0.
            Op::Binary(Binary::Div) if a.0 >= 0 && b.0 >= 0 => Bounds(0, a.over(b).1),
            Op::Binary(Binary::Rem) if a.0 >= 0 && b.0 >= 0 => a.modulo(b),
            Op::Binary(Binary::And) if a.0 >= 0 && b.0 >= 0 => Bounds(0, a.1.min(b.1)),
            Op::Binary(Binary::Or | Binary::Xor) if a.0 >= 0 && b.0 >= 0 && a.1.max(b.1) <= REACH.1 => {
                Bounds(0, (a.1.max(b.1) + 1).unsigned_abs().next_power_of_two().cast_signed() - 1)
            }
            Op::Unary(Unary::Neg) => Bounds::of(0).minus(a),
            Op::Unary(Unary::Abs) => a.most(Bounds::of(0).minus(a)).most(Bounds::of(0)),
            Op::Unary(Unary::ToBits) if self.dtype(operands[0]) != DType::F32 => numbers(DType::U16),
            Op::Unary(Unary::Sign) => Bounds(-1, 1),
            Op::Unary(Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros) => Bounds(0, 32),
            // The operand is data, or a quotient that truncates.
            Op::Cast(_) if matches!(self.dtype(operands[0]), DType::I32 | DType::U32) && a.is_within(REACH) => a,
            _ => REACH,
        }
    }

    /// Returns the range of a value as the number that it is in its own type.
    fn number_range(&self, id: ValueId) -> Bounds {
        let node = self.node(id);
        if node.dtype == DType::U32 && node.range.0 < 0 { UNSIGNED } else { node.range }
    }

    /// True if the value is at least 0.
    pub fn nonnegative(&self, id: ValueId) -> bool {
        self.node(id).range.0 >= 0
    }

    /// True if the value fits in 32 bits: it is data, or an index that is within [`REACH`] for all sizes.
    pub(crate) fn fits(&self, id: ValueId) -> bool {
        let node = self.node(id);
        node.data || node.range.is_within(REACH)
    }
}

/// Returns a `u32`'s range if `i32` has the same numbers, and [`REACH`] otherwise.
fn same_in_i32(range: Bounds) -> Bounds {
    if range.is_within(Bounds(0, REACH.1)) { range } else { REACH }
}
