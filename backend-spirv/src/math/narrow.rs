//! Conversions that round: f32 to f16 and to bfloat16, and integers to f32. They round to the nearest value, and ties go to the even one.
//! Conversions to integers of 8 and 16 bits, which keep the low bits.
//!
//! Vulkan lets a device round such a conversion down as well as to the nearest value, unless the module declares `RoundingModeRTE`
//! for the width of the result (`SPV_KHR_float_controls`). A module that narrows to f16 declares it if the profile has `rte16`.
//! Otherwise, a [function](tilewright_codegen::formulas) first rounds the f32 to a value that f16 represents by integer arithmetic, so that
//! the conversion is exact in every mode.
//! (The decoration `FPRoundingMode` is not used, because it is legal only if the result is stored at once.) A bfloat16 is always rounded by
//! integer arithmetic.

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::{Capability, ExecutionMode, Op};
use tilewright_codegen::formulas::{nearest_bfloat, nearest_half};
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
        self.call(&nearest_half(), Site { level, n, of: DType::F32, dtype: DType::F32 }, &[a])
    }
    /// Returns the number of a narrow dtype, in the dtype that instructions compute with.
    pub(crate) fn narrow(&mut self, at: Site, to: DType, a: Id) -> Result<Id> {
        if to.is_float() {
            return self.call(&nearest_bfloat(), Site { of: DType::F32, dtype: DType::F32, ..at }, &[a]);
        }
        if !to.is_signed_int() {
            let mask = self.all(DType::I32, at.n, u32::MAX >> (32 - to.bits()))?;
            return self.same(at, Op::BitwiseAnd, &[a, mask]);
        }
        let by = self.all(DType::I32, at.n, 32 - to.bits())?;
        let high = self.same(at, Op::ShiftLeftLogical, &[a, by])?;
        self.same(at, Op::ShiftRightArithmetic, &[high, by])
    }
}
