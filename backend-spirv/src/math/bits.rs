//! Operations on the bits of integers.

use crate::Result;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::{GlslStd450Op as Ext, Op};
use tilewright_dsl::expr::Unary;

impl Writer<'_> {
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
}
