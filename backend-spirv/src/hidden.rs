//! Values that compilers of drivers may not see through: combined with a zero that the launch passes, mostly by exclusive or.
//!
//! That changes nothing, and a compiler cannot know it. It is done where a compiler folds what it should not, or makes one instruction of two
//! and gets it wrong (`docs/drivers.md`).

use crate::Result;
use crate::emit::Emit;
use crate::hash::Map;
use crate::math::Site;
use crate::module::Id;
use crate::resolve::Resolver;
use crate::resolve::values::ValueId;
use rspirv::spirv::Op;
use tilewright_dsl::launch::DType;

/// What a compiler does not see through.
#[derive(Default)]
pub(crate) struct Opaque {
    /// Zeros that it does not know: their type, components, and whether they are negative.
    zeros: Map<(DType, u32, bool), Id>,
    /// Masks of conditions that are computed before all loops, and whether halves are chosen by them.
    pub(crate) masks: Map<(Id, bool), Id>,
}

impl Emit<'_> {
    /// An integer of which a compiler knows nothing.
    pub(crate) fn hidden(&mut self, at: Site, id: Id) -> Result<Id> {
        let at = Site { dtype: at.of, ..at };
        let zero = self.zero_of(at.of, at.n, false)?;
        self.same(at, Op::BitwiseXor, &[id, zero])
    }

    /// Two integers, each hidden if `whether` says so of its value.
    pub(crate) fn hidden_if(
        &mut self,
        at: Site,
        ids: &[Id],
        of: &[ValueId],
        whether: impl Fn(&Resolver<'_>, ValueId) -> bool,
    ) -> Result<[Id; 2]> {
        let mut operands = [ids[0], ids[1]];
        for (id, value) in operands.iter_mut().zip(of) {
            if whether(&self.resolver, *value) {
                *id = self.hidden(at, *id)?;
            }
        }
        Ok(operands)
    }

    /// Operands, each hidden if a compiler may find a zero in it: for infinity `x * 0.0` is NaN, and must not be folded. The zero may be a
    /// factor, or one side of a choice whose condition the compiler knows.
    pub(crate) fn with_hidden_zeros<const N: usize>(&mut self, at: Site, mut ids: [Id; N], of: [ValueId; N]) -> Result<[Id; N]> {
        for (id, value) in ids.iter_mut().zip(of) {
            match self.resolver.values.literal(value) {
                _ if !at.of.is_float() => {}
                Some(zero) if zero.value() == 0.0 => *id = self.zero_of(at.of, at.n, zero.value().is_sign_negative())?,
                None if self.resolver.may_be_zero(value) => *id = self.hidden_number(Site { dtype: at.of, ..at }, *id)?,
                _ => {}
            }
        }
        Ok(ids)
    }

    /// Numbers of which a compiler knows nothing.
    fn hidden_number(&mut self, at: Site, id: Id) -> Result<Id> {
        let words = Site { dtype: DType::I32, n: self.word_count(at), ..at };
        let bits = self.bits(at, id)?;
        let zero = self.zero_of(DType::I32, words.n, false)?;
        let bits = self.same(words, Op::BitwiseXor, &[bits, zero])?;
        self.of_bits(at, bits)
    }

    /// The launch's zero in every component, as a type; written once.
    pub(crate) fn zero_of(&mut self, dtype: DType, n: u32, is_negative: bool) -> Result<Id> {
        if let Some(id) = self.opaque.zeros.get(&(dtype, n, is_negative)) {
            return Ok(*id);
        }
        let ty = self.vector_type(dtype, n)?;
        let id = match (dtype, n) {
            (DType::F16, 1 | 2) if self.native_f16() => {
                let pair = self.vector_type(DType::F16, 2)?;
                let word = self.zero_word(if is_negative { 0x8000_8000 } else { 0 })?;
                let zeros = self.ins(0, Op::Bitcast, pair, &[word]);
                if n == 2 { zeros } else { self.ins(0, Op::CompositeExtract, ty, &[zeros, 0]) }
            }
            (_, 2..) => {
                let one = self.zero_of(dtype, 1, is_negative)?;
                self.ins(0, Op::CompositeConstruct, ty, &vec![one; n as usize])
            }
            (DType::I32, _) => self.zero_param()?,
            _ => {
                let word = self.zero_word(if is_negative { 1 << 31 } else { 0 })?;
                self.ins(0, Op::Bitcast, ty, &[word])
            }
        };
        self.opaque.zeros.insert((dtype, n, is_negative), id);
        Ok(id)
    }

    /// The launch's zero with some bits set.
    fn zero_word(&mut self, bits: u32) -> Result<Id> {
        let zero = self.zero_param()?;
        if bits == 0 {
            return Ok(zero);
        }
        let (int, bits) = (self.vector_type(DType::I32, 1)?, self.module.uint(bits));
        Ok(self.ins(0, Op::BitwiseXor, int, &[zero, bits]))
    }
}
