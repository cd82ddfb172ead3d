//! Operations on the bits of integers, and the high half of a product.

use crate::Result;
use crate::emit::Emit;
use crate::math::Site;
use crate::module::{Id, Type};
use rspirv::spirv::{GlslStd450Op as Ext, Op};
use tilewright_dsl::expr::Unary;
use tilewright_dsl::launch::DType;

impl Emit<'_> {
    /// How many bits of a `u32` are 1, 0 above the highest 1, or 0 below the lowest 1. Of 0, the number of a bit is -1.
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

    /// The high 32 bits of a product of 64.
    pub(crate) fn high_product(&mut self, at: Site, a: Id, b: Id) -> Result<Id> {
        let op = if at.of == DType::I32 { Op::SMulExtended } else { Op::UMulExtended };
        let of = self.vector_type(at.of, at.n)?;
        let both = self.module.ty(Type::Pair(of));
        let product = self.ins(at.level, op, both, &[a, b]);
        Ok(self.ins(at.level, Op::CompositeExtract, of, &[product, 1]))
    }
}
