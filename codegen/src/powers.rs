//! Powers of integers with exponents that are not literals.

use crate::values::{Op, ValueId, Values};
use tilewright_dsl::expr::{Binary, Compare, Const};
use tilewright_dsl::launch::DType;

impl Values {
    /// Returns an integer to the power of a `u32`, wrapped to 32 bits: the product of the squares of squares whose bits in the exponent
    /// are 1. There are as many as the exponent has bits.
    pub(crate) fn integer_power(&mut self, base: ValueId, exponent: ValueId) -> ValueId {
        let dtype = self.dtype(base);
        let one = self.constant(Const { dtype, bits: 1 });
        let zero = self.constant(Const { dtype: DType::U32, bits: 0 });
        let (mut power, mut square) = (None, base);
        let bits = self.bits_of_exponent(exponent);
        for bit in 0..bits {
            let mask = self.constant(Const { dtype: DType::U32, bits: 1 << bit });
            let masked = self.apply(Op::Binary(Binary::And), &[exponent, mask]);
            let is_set = self.apply(Op::Compare(Compare::Ne), &[masked, zero]);
            let factor = self.select(is_set, square, one);
            power = Some(power.map_or(factor, |power| self.product_of_data(power, factor)));
            if bit + 1 < bits {
                square = self.product_of_data(square, square);
            }
        }
        power.unwrap_or(one)
    }

    /// Returns a product that is not a polynomial, because the powers of a factor would be lists of that factor.
    fn product_of_data(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.apply(Op::Binary(Binary::Mul), &[a, b])
    }

    /// Returns the number of bits that an exponent may have.
    fn bits_of_exponent(&self, exponent: ValueId) -> u32 {
        // A `u32` has a range if all its values are below 2^31.
        let range = self.node(exponent).range;
        if range.0 < 0 { u32::BITS } else { 64 - range.1.leading_zeros() }
    }
}
