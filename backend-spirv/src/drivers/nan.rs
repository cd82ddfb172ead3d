//! NaN: where a driver's compiler may lose it, and the code that is emitted to prevent this.
//!
//! Compilers of drivers derive ranges. For example, `exp(x)` is at least 0, so they conclude that `exp(x) > -2` is true, and so is
//! `max(exp(x), -2) >= 0`. By default, SPIR-V allows this as if there were no NaN. The language does not: comparisons with NaN are false,
//! and `min` and `max` return the other operand.
//!
//! An operand is *suspect* if it may be NaN and a compiler may know a range of it that ignores NaN
//! ([`Class`](tilewright_codegen::drivers::class::Class)). Values that are read or passed, and sums of these, do not have such a range. For
//! a suspect operand:
//!
//! - `min` and `max` use the float controls (`SignedZeroInfNanPreserve`) if the profile has them, otherwise NaN is tested on the bits;
//! - comparisons test NaN on the bits, because a driver folds them in spite of the float controls (`docs/drivers.md`).
//!
//! `is_nan` is always tested on the bits.

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::{Capability, ExecutionMode, GlslStd450Op as Ext, Op};
use tilewright_codegen::values::{Kind, ValueId};
use tilewright_dsl::expr::{Binary, Compare};
use tilewright_dsl::launch::{DType, Feature};

/// The comparisons of a number's bits, without the sign, with the bits of infinity.
const IS_NAN: Op = Op::UGreaterThan;
const IS_NUMBER: Op = Op::ULessThanEqual;

impl BlockContext<'_> {
    /// Writes `min` or `max` of floats. If one operand is NaN, the result is the other. Minima and maxima of halves are computed in f32,
    /// where they are exact, because a driver computes them wrongly in f16 (`docs/drivers.md`).
    pub(crate) fn float_extreme(&mut self, op: Binary, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        if at.of == DType::F16 && self.native_f16() {
            self.module.capability(Capability::Float16);
            let wide = Site { of: DType::F32, dtype: DType::F32, ..at };
            let ids = [self.same(wide, Op::FConvert, &[ids[0]])?, self.same(wide, Op::FConvert, &[ids[1]])?];
            let result = self.extreme_of_words(op, wide, ids, of)?;
            return self.same(at, Op::FConvert, &[result]);
        }
        self.extreme_of_words(op, at, [ids[0], ids[1]], of)
    }

    fn extreme_of_words(&mut self, op: Binary, at: Site, [a, b]: [Id; 2], of: &[ValueId]) -> Result<Id> {
        let mut result = self.same_ext(at, if op == Binary::Min { Ext::NMin } else { Ext::NMax }, &[a, b])?;
        let suspect = [of[0], of[1]].map(|v| self.classes.class(&self.resolver.values, v).is_suspect());
        let dtype = self.resolver.values.dtype(of[0]);
        if suspect == [false; 2] || self.preserves_nan(dtype) {
            return Ok(result);
        }
        for ((is_suspect, one), other) in suspect.into_iter().zip([a, b]).zip([b, a]) {
            if is_suspect {
                let nan = self.is_nan(at, one)?;
                result = match dtype {
                    DType::F16 => self.choice_of_bits(at, (nan, at.level), [other, result])?,
                    _ => self.same(at, Op::Select, &[nan, other, result])?,
                };
            }
        }
        Ok(result)
    }

    /// Corrects the `result` of a comparison for operands that may be NaN although a compiler takes them for numbers.
    pub(crate) fn with_nan(&mut self, op: Compare, at: Site, mut result: Id, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let known = |kind: &Kind| matches!(kind, Kind::Load(_) | Kind::Param(_) | Kind::Const(_));
        let computed = |e: &Self, v: ValueId| !known(&e.resolver.values.node(v).kind);
        // A compiler may find that two computed operands are the same expression, and then assume that they are equal.
        let same = of[0] == of[1] || computed(self, of[0]) && computed(self, of[1]);
        let (a, b) = (self.classes.class(&self.resolver.values, of[0]), self.classes.class(&self.resolver.values, of[1]));
        let tested = [a.is_suspect() || same && a.nan, of[0] != of[1] && b.is_suspect()];
        let (test, combine) = match op {
            Compare::Ne => (IS_NAN, Op::LogicalOr),
            _ => (IS_NUMBER, Op::LogicalAnd),
        };
        for (_, id) in tested.into_iter().zip(ids).filter(|(tested, _)| *tested) {
            let known = self.nan_test(at, *id, test)?;
            result = self.test(at, combine, &[result, known])?;
        }
        Ok(result)
    }

    /// Writes an `Fma`. It may not be contracted, except if it adds to an accumulator in f16: a convolution of halves would take 1.23
    /// times as long with NVIDIA's driver.
    pub(crate) fn fused(&mut self, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let [a, b] = self.with_hidden_zeros(at, [ids[0], ids[1]], [of[0], of[1]])?;
        let id = self.same_ext(at, Ext::Fma, &[a, b, ids[2]])?;
        if !self.fuse.is_accumulator(of[2]) {
            self.module.as_written(id);
        }
        Ok(id)
    }
}

impl Writer<'_> {
    /// Tests on the bits whether each component is NaN.
    pub(crate) fn is_nan(&mut self, at: Site, a: Id) -> Result<Id> {
        self.nan_test(at, a, IS_NAN)
    }

    /// Compares the bits, without the sign, with the bits of infinity.
    fn nan_test(&mut self, at: Site, a: Id, op: Op) -> Result<Id> {
        let wide = Site { dtype: DType::F32, ..at };
        let a = match at.of == DType::F16 && self.native_f16() {
            true => self.same(wide, Op::FConvert, &[a])?,
            false => a,
        };
        let words = Site { dtype: DType::U32, ..at };
        let (mask, infinity) = (self.all(DType::U32, at.n, u32::MAX >> 1)?, self.all(DType::U32, at.n, f32::INFINITY.to_bits())?);
        let bits = self.same(words, Op::Bitcast, &[a])?;
        let size = self.same(words, Op::BitwiseAnd, &[bits, mask])?;
        self.test(at, op, &[size, infinity])
    }

    /// Declares the float controls of a dtype and returns true, if the profile has them.
    fn preserves_nan(&mut self, dtype: DType) -> bool {
        let halves = dtype == DType::F16 && self.native_f16();
        let wanted: &[(Feature, u32)] =
            if halves { &[(Feature::Nan16, 16), (Feature::Nan32, 32)] } else { &[(Feature::Nan32, 32)] };
        if !wanted.iter().all(|(feature, _)| self.profile.has(*feature)) {
            return false;
        }
        for (feature, bits) in wanted {
            self.features.insert(*feature);
            let (capability, mode) = (Capability::SignedZeroInfNanPreserve, ExecutionMode::SignedZeroInfNanPreserve);
            self.module.float_control(capability, mode, *bits);
        }
        true
    }
}
