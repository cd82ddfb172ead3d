//! Dot products of bytes that are packed in words.

use crate::Result;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::{Capability, Op, PackedVectorFormat};
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::{DType, DotSigns, Feature};
use tilewright_dsl::profile::Profile;

impl BlockContext<'_> {
    /// Multiplies the bytes of two words pair by pair, and adds the products. The sum is exact, and `sum` has its bits.
    pub(crate) fn dot_of_words(&mut self, of: &[ValueId], factors: [DType; 2], sum: DType, level: u32) -> Result<Id> {
        let Some(signs) = DotSigns::of(factors) else { return Err(self.defect("a dot product of other factors than bytes")) };
        let help = format!("leave `dot` out, or take {}", Profile::that_have(Feature::IntegerDotProduct));
        self.need(Feature::IntegerDotProduct, "a dot product of bytes", help)?;
        self.module.extension("SPV_KHR_integer_dot_product");
        self.module.capability(Capability::DotProduct);
        self.module.capability(Capability::DotProductInput4x8BitPacked);
        let mut words = [self.packed_value(of[0], factors[0])?, self.packed_value(of[1], factors[1])?];
        let (op, to) = match signs {
            DotSigns::Signed => (Op::SDot, sum),
            // Its result must be unsigned.
            DotSigns::Unsigned => (Op::UDot, DType::U32),
            DotSigns::Mixed => (Op::SUDot, sum),
        };
        if factors == [DType::U8, DType::I8] {
            // The signed factor comes first.
            words.reverse();
        }
        let ty = self.scalar_type(to)?;
        let dot = self.ins(level, op, ty, &[words[0], words[1], PackedVectorFormat::PackedVectorFormat4x8Bit as u32]);
        if to == sum {
            return Ok(dot);
        }
        let ty = self.scalar_type(sum)?;
        Ok(self.ins(level, Op::Bitcast, ty, &[dot]))
    }
}
