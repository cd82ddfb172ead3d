//! Narrow dtypes: integers of 8 and 16 bits, and bfloat16. Memory and expressions have them, but values have the dtype that instructions
//! compute with ([`DType::computed`]): a value of a narrow dtype is the `i32` or `f32` of the same number. So an operation is the one of
//! that dtype, whose result is brought back to the narrow dtype if it may be another number.

use crate::Resolver;
use crate::values::{Kind, Op, ValueId, Values};
use tilewright_dsl::expr::{Binary, Const, Expr, ExprId, Unary};
use tilewright_dsl::launch::{Bounds, DType, REACH};

/// Returns the numbers of a narrow integer, or of any `i32`.
pub(crate) fn numbers(dtype: DType) -> Bounds {
    dtype.int_range().filter(|_| dtype.is_narrow()).map_or(REACH, |(least, greatest)| Bounds(least, greatest))
}

impl Values {
    /// Returns the number of a dtype for a value that was computed in 32 bits. Such a value is a number of `i64` already.
    fn narrowed(&mut self, value: ValueId, dtype: DType) -> ValueId {
        let node = self.node(value);
        let is_known = if dtype.is_float() { self.is_bfloat(value) } else { node.range.is_within(numbers(dtype)) };
        if !dtype.is_narrow() || dtype == DType::I64 || is_known { value } else { self.apply(Op::Narrow(dtype), &[value]) }
    }

    /// True if an f32 has the bits of a bfloat16 above 16 zeros.
    fn is_bfloat(&self, value: ValueId) -> bool {
        let operands = |value: ValueId, op: Op| match &self.node(value).kind {
            Kind::Op(of, operands) if *of == op => Some(operands.clone()),
            _ => None,
        };
        let bits = operands(value, Op::Unary(Unary::FromBits)).and_then(|of| operands(of[0], Op::Binary(Binary::Shl)));
        bits.and_then(|of| self.literal(of[1])).is_some_and(|by| by.bits == 16)
    }

    /// Converts a value from the dtype of its expression, as Rust's `as` does. Integers are converted to bfloat16 through `f32`.
    pub(crate) fn converted(&mut self, value: ValueId, from: DType, to: DType) -> ValueId {
        let wide = if self.dtype(value) == to.computed() { value } else { self.apply(Op::Cast(to.computed()), &[value]) };
        match (from.is_float(), to.is_float()) {
            _ if from == to || from == DType::Bool => wide,
            // A float that is out of range becomes the nearest integer. The conversion to 32 bits does the same, and gives 0 for NaN.
            (true, false) if to.is_narrow() => {
                let Bounds(least, greatest) = numbers(to);
                let (least, greatest) = (self.int(least), self.int(greatest));
                let above = self.apply(Op::Binary(Binary::Max), &[wide, least]);
                self.apply(Op::Binary(Binary::Min), &[above, greatest])
            }
            _ => self.narrowed(wide, to),
        }
    }
}

impl Resolver<'_> {
    /// Returns the value of an expression as a number of the expression's dtype, given the value that its operation has in 32 bits.
    pub(crate) fn in_own_dtype(&mut self, id: ExprId, value: ValueId) -> ValueId {
        let dtype = self.program.exprs.dtype(id);
        if !dtype.is_narrow() || is_closed(self.program.exprs.get(id), dtype) { value } else { self.values.narrowed(value, dtype) }
    }
}

/// True if an expression of a narrow dtype is a number of that dtype already when it is computed in 32 bits.
fn is_closed(e: &Expr, dtype: DType) -> bool {
    use Binary::{And, CopySign, Max, Min, Or, Rem, Shr, Xor};
    let signed = dtype.is_float() || dtype.is_signed_int();
    match e {
        Expr::Unary(op, _) => match op {
            // The negation of the lowest integer is out of range.
            Unary::Neg | Unary::Abs => dtype.is_float(),
            Unary::Not => signed,
            Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::RoundTiesEven | Unary::Trunc | Unary::Fract => true,
            Unary::ToBits => true,
            _ => false,
        },
        Expr::Binary(op, ..) => matches!(op, And | Or | Xor | Min | Max | Rem | Shr | CopySign),
        Expr::MulAdd(..) => false,
        _ => true,
    }
}

/// Returns a literal of a dtype as the literal of the same number that values have.
pub fn literal(c: Const) -> Const {
    if c.dtype.is_narrow() { Const::number(c.value(), c.dtype.computed()) } else { c }
}
