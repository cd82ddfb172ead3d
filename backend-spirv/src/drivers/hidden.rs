//! Values that the driver's compiler cannot analyse, because they are combined with a zero that the launch passes, mostly by exclusive or.
//!
//! Such a combination does not change the value, but the compiler cannot know that. It is used where a compiler would fold an expression
//! that it must not fold, or where it would merge two instructions into one and get the result wrong (`docs/drivers.md`).

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::Op;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::DType;

/// The hidden values that were written already.
#[derive(Default)]
pub(crate) struct Opaque {
    /// Hidden zeros, by type, number of components, and sign.
    zeros: Map<(DType, u32, bool), Id>,
    /// Masks of conditions that are computed before all loops, by condition and by whether they select halves.
    pub(super) masks: Map<(Id, bool), Id>,
}

impl BlockContext<'_> {
    /// Hides an integer that is converted to a float, if a compiler may find its value.
    pub(crate) fn hidden_integer(&mut self, at: Site, to: DType, id: Id, of: ValueId) -> Result<Id> {
        let may_be_found = to.is_float() && at.of.is_int() && self.resolver.may_be_found(of);
        if may_be_found { self.hidden(at, id) } else { Ok(id) }
    }

    /// Hides each operand that a compiler may find to be zero. Otherwise it could fold `x * 0.0` to 0, which is wrong because the product
    /// is NaN if `x` is infinite. The zero may be a factor, or an operand of a selection whose condition the compiler knows.
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
}

impl Writer<'_> {
    /// Hides an integer from the compiler.
    pub(crate) fn hidden(&mut self, at: Site, id: Id) -> Result<Id> {
        let at = Site { dtype: at.of, ..at };
        let zero = self.zero_of(at.of, at.n, false)?;
        self.same(at, Op::BitwiseXor, &[id, zero])
    }

    /// Hides each of two integers if its flag is set.
    pub(crate) fn hidden_if(&mut self, at: Site, ids: &[Id], flags: [bool; 2]) -> Result<[Id; 2]> {
        let mut operands = [ids[0], ids[1]];
        for (id, _) in operands.iter_mut().zip(flags).filter(|(_, flag)| *flag) {
            *id = self.hidden(at, *id)?;
        }
        Ok(operands)
    }

    /// Hides floats from the compiler.
    fn hidden_number(&mut self, at: Site, id: Id) -> Result<Id> {
        let words = Site { dtype: DType::I32, n: self.word_count(at), ..at };
        let bits = self.bits(at, id)?;
        let zero = self.zero_of(DType::I32, words.n, false)?;
        let bits = self.same(words, Op::BitwiseXor, &[bits, zero])?;
        self.of_bits(at, bits)
    }

    /// Returns the launch's zero in every component of a type. It is written once.
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
            (DType::I32, _) => self.zero_word(0)?,
            _ => {
                let word = self.zero_word(if is_negative { 1 << 31 } else { 0 })?;
                self.ins(0, Op::Bitcast, ty, &[word])
            }
        };
        self.opaque.zeros.insert((dtype, n, is_negative), id);
        Ok(id)
    }

    /// Returns the launch's zero with some bits set.
    fn zero_word(&mut self, bits: u32) -> Result<Id> {
        let int = self.scalar_type(DType::I32)?;
        let zero = self.params.zero(&mut self.module, int);
        if bits == 0 {
            return Ok(zero);
        }
        let bits = self.module.uint(bits);
        Ok(self.ins(0, Op::BitwiseXor, int, &[zero, bits]))
    }
}
