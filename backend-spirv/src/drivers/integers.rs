//! Integer arithmetic that drivers compile wrongly as one instruction.

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use smallvec::SmallVec;
use spirv::{GlslStd450Op as Ext, Op};
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::DType;

impl BlockContext<'_> {
    /// Writes the bits that are 1 in both integers. An operand that may be selected by a condition is hidden, unless the other operand is a
    /// literal.
    pub(crate) fn and_of_bits(&mut self, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let hides = |v: ValueId, other: ValueId| self.resolver.may_be_choice(v) && self.resolver.values.literal(other).is_none();
        let flags = [hides(of[0], of[1]), hides(of[1], of[0])];
        let operands = self.hidden_if(at, ids, flags)?;
        self.same(at, Op::BitwiseAnd, &operands)
    }

    /// Writes `|` or `^` of integers. An operand that may be the upper byte of an integer whose bytes are swapped is hidden.
    pub(crate) fn combined_bits(&mut self, op: Op, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let flags = [of[0], of[1]].map(|v| self.resolver.may_be_upper_byte(v));
        let operands = self.hidden_if(at, ids, flags)?;
        self.same(at, op, &operands)
    }

    /// Writes `min` or `max` of integers. A signed operand that may be a negation is hidden.
    pub(crate) fn int_extreme(&mut self, op: Binary, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let op = match (op, at.of) {
            (Binary::Min, DType::U32) => Ext::UMin,
            (_, DType::U32) => Ext::UMax,
            (Binary::Min, DType::I32) => Ext::SMin,
            (_, DType::I32) => Ext::SMax,
            _ => return Err(self.not_computed(at.of)),
        };
        let flags = [of[0], of[1]].map(|v| at.of == DType::I32 && self.resolver.may_be_negation(v));
        let operands = self.hidden_if(at, ids, flags)?;
        self.same_ext(at, op, &operands)
    }
}

impl Writer<'_> {
    /// Writes the absolute value of signed integers, by [`ABS_BY_CHOICE`](tilewright_dsl::expr::rules::ABS_BY_CHOICE). `SMax` is not
    /// used, because it would be merged with other maxima.
    pub(crate) fn absolute(&mut self, at: Site, a: Id) -> Result<Id> {
        let (negative, zero) = (self.same(at, Op::SNegate, &[a])?, self.all(at.of, at.n, 0)?);
        let below = self.test(at, Op::SLessThan, &[a, zero])?;
        self.same(at, Op::Select, &[below, negative, a])
    }

    /// Writes a quotient or remainder of integers, component by component, because NVIDIA's compiler crashes at some of vectors
    /// (`docs/drivers.md`).
    pub(crate) fn quotient(&mut self, op: Op, at: Site, of: DType, a: Id, b: Id) -> Result<Id> {
        let ty = self.vector_type(of, at.n)?;
        if at.n == 1 {
            return Ok(self.ins(at.level, op, ty, &[a, b]));
        }
        let one = self.vector_type(of, 1)?;
        let mut parts: SmallVec<[Id; 4]> = SmallVec::new();
        for n in 0..at.n {
            let [a, b] = [a, b].map(|vector| self.ins(at.level, Op::CompositeExtract, one, &[vector, n]));
            parts.push(self.ins(at.level, op, one, &[a, b]));
        }
        Ok(self.ins(at.level, Op::CompositeConstruct, ty, &parts))
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
