//! Conversions that round: f32 to f16, and integers to f32. They round to the nearest value, and ties go to the even one.
//!
//! Vulkan lets a device round such a conversion down as well as to the nearest value, unless the module declares `RoundingModeRTE`
//! for the width of the result (`SPV_KHR_float_controls`). A module that narrows to f16 declares it if the profile has `rte16`.
//! Otherwise, integer arithmetic first rounds the f32 to a value that f16 represents, so that the conversion is exact in every mode.
//! (The decoration `FPRoundingMode` is not used, because it is legal only if the result is stored at once.)

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::{Capability, ExecutionMode, GlslStd450Op as Ext, Op};
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::{Bounds, DType, Feature};

/// The range in which f32 represents every integer.
const EXACT: Bounds = Bounds(-(1 << 24), 1 << 24);

impl BlockContext<'_> {
    /// Declares that integers are rounded to the nearest f32, if `of` may need rounding and the profile has the mode.
    pub(crate) fn rounds_integer(&mut self, of: ValueId) {
        let node = self.resolver.values.node(of);
        let is_exact = node.dtype == DType::I32 && node.range.is_within(EXACT);
        if !is_exact {
            self.rounds_to_even(Feature::Rte32, 32);
        }
    }
}

impl Writer<'_> {
    /// Narrows f32 to f16. If the profile lacks arithmetic on halves, the result is the f32 of the same value.
    pub(crate) fn narrowed(&mut self, level: u32, n: u32, a: Id) -> Result<Id> {
        let is_declared = self.rounds_to_even(Feature::Rte16, 16);
        let a = if is_declared { a } else { self.rounded_by_bits(level, n, a)? };
        if self.native_f16() {
            let ty = self.vector_type(DType::F16, n)?;
            return Ok(self.ins(level, Op::FConvert, ty, &[a]));
        }
        if !is_declared {
            return Ok(a);
        }
        let half = self.memory_type(DType::F16, n)?;
        let rounded = self.ins(level, Op::FConvert, half, &[a]);
        let ty = self.vector_type(DType::F32, n)?;
        Ok(self.ins(level, Op::FConvert, ty, &[rounded]))
    }

    /// True if the profile has the rounding mode of a width. Then the module declares it.
    pub(crate) fn rounds_to_even(&mut self, feature: Feature, bits: u32) -> bool {
        let has = self.profile.has(feature);
        if has {
            self.features.insert(feature);
            self.module.float_control(Capability::RoundingModeRTE, ExecutionMode::RoundingModeRTE, bits);
        }
        has
    }

    /// Returns the f16 that is nearest to an f32, as an f32, by integer arithmetic. NaN stays NaN.
    pub(crate) fn rounded_by_bits(&mut self, level: u32, n: u32, a: Id) -> Result<Id> {
        let at = Site { level, n, of: DType::U32, dtype: DType::U32 };
        let (word, float) = (self.vector_type(DType::U32, n)?, self.vector_type(DType::F32, n)?);
        let is = |e: &mut Self, op: Op, a: Id, b: u32| {
            let b = e.all(DType::U32, n, b)?;
            e.test(at, op, &[a, b])
        };
        let with = |e: &mut Self, op: Op, a: Id, b: u32| {
            let b = e.all(DType::U32, n, b)?;
            e.same(at, op, &[a, b])
        };
        let bits = self.ins(level, Op::Bitcast, word, &[a]);
        let sign = with(self, Op::BitwiseAnd, bits, 0x8000_0000)?;
        let size = with(self, Op::BitwiseAnd, bits, 0x7fff_ffff)?;
        // From 2^-14 on, 13 bits of the mantissa are rounded away. A result of 2^16 or more is infinite.
        let unit = with(self, Op::ShiftRightLogical, size, 13)?;
        let odd = with(self, Op::BitwiseAnd, unit, 1)?;
        let up = with(self, Op::IAdd, odd, 0xfff)?;
        let near = self.same(at, Op::IAdd, &[size, up])?;
        let near = with(self, Op::BitwiseAnd, near, 0xffff_e000)?;
        let is_finite = is(self, Op::ULessThan, near, 0x4780_0000)?;
        let infinite = self.all(DType::U32, n, 0x7f80_0000)?;
        let normal = self.same(at, Op::Select, &[is_finite, near, infinite])?;
        let small = self.multiple_of_the_least(at, size, with)?;
        let is_small = is(self, Op::ULessThan, size, 0x3880_0000)?;
        let number = self.same(at, Op::Select, &[is_small, small, normal])?;
        let is_nan = is(self, Op::UGreaterThan, size, 0x7f80_0000)?;
        let nan = with(self, Op::BitwiseOr, size, 0x0040_0000)?;
        let all = self.same(at, Op::Select, &[is_nan, nan, number])?;
        let all = self.same(at, Op::BitwiseOr, &[all, sign])?;
        Ok(self.ins(level, Op::Bitcast, float, &[all]))
    }

    /// Returns the bits of the f32 that is the nearest multiple of 2^-24. Below 2^-14, these multiples are the values of f16.
    fn multiple_of_the_least(&mut self, at: Site, size: Id, with: impl Fn(&mut Self, Op, Id, u32) -> Result<Id>) -> Result<Id> {
        let exponent = with(self, Op::ShiftRightLogical, size, 23)?;
        let mantissa = with(self, Op::BitwiseAnd, size, 0x007f_ffff)?;
        let mantissa = with(self, Op::BitwiseOr, mantissa, 0x0080_0000)?;
        // The number of bits between 2^-24 and the unit of the mantissa. It is clamped, so that no shift exceeds 31 bits for any
        // operand.
        let most = self.all(DType::U32, at.n, 112)?;
        let exponent = self.same_ext(at, Ext::UMin, &[exponent, most])?;
        let above = self.all(DType::U32, at.n, 126)?;
        let shift = self.same(at, Op::ISub, &[above, exponent])?;
        let most = self.all(DType::U32, at.n, 31)?;
        let shift = self.same_ext(at, Ext::UMin, &[shift, most])?;
        let below = with(self, Op::ISub, shift, 1)?;
        let one = self.all(DType::U32, at.n, 1)?;
        let tie = self.same(at, Op::ShiftLeftLogical, &[one, below])?;
        let rest = with(self, Op::ISub, tie, 1)?;
        let unit = self.same(at, Op::ShiftRightLogical, &[mantissa, shift])?;
        let odd = with(self, Op::BitwiseAnd, unit, 1)?;
        let up = self.same(at, Op::IAdd, &[rest, odd])?;
        let sum = self.same(at, Op::IAdd, &[mantissa, up])?;
        let count = self.same(at, Op::ShiftRightLogical, &[sum, shift])?;
        let (float, word) = (self.vector_type(DType::F32, at.n)?, self.vector_type(at.dtype, at.n)?);
        let least = self.all(DType::F32, at.n, (1.0f32 / 16_777_216.0).to_bits())?;
        let count = self.ins(at.level, Op::ConvertUToF, float, &[count]);
        let multiple = self.ins(at.level, Op::FMul, float, &[count, least]);
        Ok(self.ins(at.level, Op::Bitcast, word, &[multiple]))
    }
}
