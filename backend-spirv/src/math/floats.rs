//! The bits of floats.

use crate::Result;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::Op;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::profile::Profile;

impl Writer<'_> {
    /// Returns the bits of floats: of an f32 as a `u32`, and of an f16 as an `i32`, whose upper half is 0.
    pub(super) fn bits_of_float(&mut self, at: Site, a: Id) -> Result<Id> {
        if at.of != DType::F16 {
            return self.same(at, Op::Bitcast, &[a]);
        }
        self.needs_halves()?;
        let (one, half) = (self.vector_type(DType::I32, 1)?, self.vector_type(DType::F16, 1)?);
        let (pair, zero) = (self.vector_type(DType::F16, 2)?, self.all(DType::F16, 1, 0)?);
        self.each_component(at, |writer, n| {
            let low = if at.n == 1 { a } else { writer.ins(at.level, Op::CompositeExtract, half, &[a, n]) };
            let both = writer.ins(at.level, Op::CompositeConstruct, pair, &[low, zero]);
            writer.ins(at.level, Op::Bitcast, one, &[both])
        })
    }

    /// Returns the floats that have these bits.
    pub(super) fn float_of_bits(&mut self, at: Site, a: Id) -> Result<Id> {
        if at.dtype != DType::F16 {
            return self.same(at, Op::Bitcast, &[a]);
        }
        self.needs_halves()?;
        let (one, half) = (self.vector_type(DType::I32, 1)?, self.vector_type(DType::F16, 1)?);
        let pair = self.vector_type(DType::F16, 2)?;
        self.each_component(at, |writer, n| {
            let bits = if at.n == 1 { a } else { writer.ins(at.level, Op::CompositeExtract, one, &[a, n]) };
            let both = writer.ins(at.level, Op::Bitcast, pair, &[bits]);
            writer.ins(at.level, Op::CompositeExtract, half, &[both, 0])
        })
    }

    /// Returns the vector of a function of each component's number.
    fn each_component(&mut self, at: Site, mut of: impl FnMut(&mut Self, u32) -> Id) -> Result<Id> {
        let parts: Vec<Id> = (0..at.n).map(|n| of(self, n)).collect();
        if let [one] = parts[..] {
            return Ok(one);
        }
        self.same(at, Op::CompositeConstruct, &parts)
    }

    /// Declares arithmetic on halves. Without it, a half is the f32 of the same number.
    fn needs_halves(&mut self) -> Result<()> {
        let profiles = Profile::that_have(Feature::F16);
        self.need(Feature::F16, "the bits of an `f16`", format!("take {profiles}"))
    }
}
