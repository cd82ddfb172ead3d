//! Functions of floats as values: those that are computed in f32 for all operands, and products with sums.

use super::function_of;
use crate::values::{Op, ValueId, Values};
use tilewright_dsl::expr::{Binary, Unary};
use tilewright_dsl::launch::DType;

impl Values {
    /// Returns `a * b + c` of floats. In f32 it is an `Fma`, because that is never slower than a product and a sum. In f16 it can
    /// be slower.
    pub(crate) fn mul_add(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        if self.dtype(a) == DType::F32 {
            return self.apply(Op::Fma, &[a, b, c]);
        }
        let product = self.apply(Op::Binary(Binary::Mul), &[a, b]);
        self.apply(Op::Binary(Binary::Add), &[product, c])
    }

    /// Applies an operation. Operands in f16 are computed in f32, and the result is rounded, if the operation is a formula
    /// or its instruction has a poor bound in f16: `sin` and `cos` may be off by 2^-7.
    pub(crate) fn function(&mut self, op: Op, operands: &[ValueId]) -> ValueId {
        let is_poor = matches!(op, Op::Unary(Unary::Sin | Unary::Cos));
        let is_half = operands.iter().all(|operand| self.dtype(*operand) == DType::F16);
        if !is_half || !(is_poor || function_of(op).is_some()) {
            return self.apply(op, operands);
        }
        let wide: Vec<ValueId> = operands.iter().map(|operand| self.apply(Op::Cast(DType::F32), &[*operand])).collect();
        let result = self.apply(op, &wide);
        self.apply(Op::Cast(DType::F16), &[result])
    }
}
