//! Operations on the bits of integers, and the high half of a product.

use crate::Result;
use crate::emit::Emit;
use crate::math::Site;
use crate::module::Id;
use rspirv::spirv::{GlslStd450Op as Ext, Op};
use tilewright_dsl::expr::Unary;
use tilewright_dsl::launch::DType;

impl Emit<'_> {
    /// Counts the bits of a `u32` that are 1, the zeros above its highest 1, or the zeros below its lowest 1. `FindUMsb` and
    /// `FindILsb` return -1 if no bit is 1.
    pub(crate) fn bits_of(&mut self, op: Unary, at: Site, a: Id) -> Result<Id> {
        match op {
            Unary::LeadingZeros => {
                let (highest, last) = (self.same_ext(at, Ext::FindUMsb, &[a])?, self.all(at.of, at.n, 31)?);
                self.same(at, Op::ISub, &[last, highest])
            }
            Unary::TrailingZeros => {
                let (lowest, all) = (self.same_ext(at, Ext::FindILsb, &[a])?, self.all(at.of, at.n, 32)?);
                self.same_ext(at, Ext::UMin, &[lowest, all])
            }
            _ => self.same(at, Op::BitCount, &[a]),
        }
    }

    /// Returns the high 32 bits of a 64-bit product, computed from 16-bit halves because a driver returns wrong bits for
    /// `OpUMulExtended` (`docs/drivers.md`).
    pub(crate) fn high_product(&mut self, at: Site, a: Id, b: Id) -> Result<Id> {
        let (sixteen, mask) = (self.all(at.of, at.n, 16)?, self.all(at.of, at.n, 0xffff)?);
        let mut low = |of: Id| self.same(at, Op::BitwiseAnd, &[of, mask]);
        let (low_a, low_b) = (low(a)?, low(b)?);
        let mut high = |of: Id| self.same(at, Op::ShiftRightLogical, &[of, sixteen]);
        let (high_a, high_b) = (high(a)?, high(b)?);
        // No sum overflows 32 bits: a product of halves is at most (2^16 - 1)^2, and each number that is added to it is below
        // 2^16.
        let lowest = self.same(at, Op::IMul, &[low_a, low_b])?;
        let carried = self.same(at, Op::ShiftRightLogical, &[lowest, sixteen])?;
        let middle = self.same(at, Op::IMul, &[high_a, low_b])?;
        let middle = self.same(at, Op::IAdd, &[middle, carried])?;
        let left = self.same(at, Op::BitwiseAnd, &[middle, mask])?;
        let other = self.same(at, Op::IMul, &[low_a, high_b])?;
        let other = self.same(at, Op::IAdd, &[other, left])?;
        let mut result = self.same(at, Op::IMul, &[high_a, high_b])?;
        for sum in [middle, other] {
            let carried = self.same(at, Op::ShiftRightLogical, &[sum, sixteen])?;
            result = self.same(at, Op::IAdd, &[result, carried])?;
        }
        if at.of == DType::I32 {
            // A negative number that is read as unsigned is 2^32 too large, so the other factor is subtracted from the high
            // half.
            let thirty_one = self.all(at.of, at.n, 31)?;
            for (of, by) in [(a, b), (b, a)] {
                let negative = self.same(at, Op::ShiftRightArithmetic, &[of, thirty_one])?;
                let more = self.same(at, Op::BitwiseAnd, &[negative, by])?;
                result = self.same(at, Op::ISub, &[result, more])?;
            }
        }
        Ok(result)
    }
}
