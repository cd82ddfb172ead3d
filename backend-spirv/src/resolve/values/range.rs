//! The range of an integer operation's result.
//!
//! Of an index it is that of the exact integer, and can leave 32 bits. Data wraps: where arithmetic on it can leave them,
//! nothing is known of the result.

use super::{Kind, Op, Operands, ValueId, Values};
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::{Bounds, DType, REACH};

impl Values {
    pub(crate) fn op_range(&self, op: Op, operands: &Operands) -> Bounds {
        let own = |n: usize| operands.get(n).map_or(REACH, |v| self.node(*v).range);
        // Of `u32`, elements of tables alone have ranges, because the others may wrap at 0.
        let of = |n: usize| if operands.get(n).is_some_and(|v| self.dtype(*v) == DType::U32) { REACH } else { own(n) };
        let (a, b) = (of(0), of(1));
        let range = match op {
            Op::Splat(_) | Op::Extract(_) | Op::Part(_) | Op::Index => a,
            Op::Select => b.either(of(2)),
            Op::Join => operands.iter().map(|v| self.node(*v).range).fold(a, Bounds::either),
            Op::Binary(Binary::Min) => a.least(b),
            Op::Binary(Binary::Max) => a.most(b),
            Op::Binary(Binary::FloorMod) => a.modulo(b),
            Op::Binary(Binary::FloorDiv) => a.over(b),
            Op::Binary(Binary::Mul) => a.times(b),
            Op::Binary(Binary::And) if a.0 >= 0 && b.0 >= 0 => Bounds(0, a.1.min(b.1)),
            Op::Binary(Binary::Or | Binary::Xor) if a.0 >= 0 && b.0 >= 0 && a.1.max(b.1) <= REACH.1 => {
                Bounds(0, (a.1.max(b.1) + 1).unsigned_abs().next_power_of_two().cast_signed() - 1)
            }
            Op::Unary(Unary::Neg) => Bounds::of(0).minus(a),
            Op::Unary(Unary::Abs) => a.most(Bounds::of(0).minus(a)).most(Bounds::of(0)),
            Op::Unary(Unary::Sign) => Bounds(-1, 1),
            // A number of bits, which is a `u32`.
            Op::Cast(_) if self.is_number_of_bits(operands[0]) => Bounds(0, 32),
            // The result is data, or a quotient that truncates.
            Op::Cast(_) if matches!(self.dtype(operands[0]), DType::I32 | DType::U32) && own(0).is_within(REACH) => own(0),
            _ => REACH,
        };
        let wraps = operands.iter().any(|v| self.node(*v).data) && !range.is_within(REACH);
        if wraps { REACH } else { range }
    }

    fn is_number_of_bits(&self, id: ValueId) -> bool {
        match &self.node(id).kind {
            Kind::Op(Op::Unary(Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros), _) => true,
            Kind::Op(Op::Splat(_) | Op::Extract(_) | Op::Part(_), of) => self.is_number_of_bits(of[0]),
            _ => false,
        }
    }

    /// Whether it is at least 0.
    pub(crate) fn nonnegative(&self, id: ValueId) -> bool {
        self.node(id).range.0 >= 0
    }

    /// Whether 32 bits hold it: it is data, or an index that is within reach for all sizes.
    pub(crate) fn fits(&self, id: ValueId) -> bool {
        let node = self.node(id);
        node.data || node.range.is_within(REACH)
    }
}
