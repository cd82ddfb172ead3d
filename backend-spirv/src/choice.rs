//! One of two values by a condition: `OpSelect`, and bits under a mask where the values are halves.
//!
//! There is a driver that makes pairs of halves and gets the choices in them wrong (`docs/drivers.md`). So no instruction chooses between
//! halves: their bits are combined under a mask. A compiler does not know that the mask has only two values.

use crate::Result;
use crate::emit::Emit;
use crate::math::Site;
use crate::module::Id;
use crate::resolve::values::ValueId;
use rspirv::spirv::Op;
use tilewright_dsl::launch::DType;

/// The bits of a word that its first half takes, and its second.
const HALVES: [u32; 2] = [0x0000_ffff, 0xffff_0000];

impl Emit<'_> {
    /// One of two values.
    pub(crate) fn choice_of(&mut self, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let arms = [ids[1], ids[2]];
        if self.is_half(at) || of[1..].iter().any(|arm| self.resolver.is_widened_half(*arm)) {
            let level = self.resolver.values.node(of[0]).level;
            return self.choice_of_bits(at, (ids[0], level), arms);
        }
        let [yes, no] = self.with_hidden_zeros(at, arms, [of[1], of[2]])?;
        self.same(at, Op::Select, &[ids[0], yes, no])
    }

    /// One of two numbers, by their bits. Numbers in f32 that were halves belong here too: a compiler that sees through the conversions would
    /// choose between the halves. The condition comes with its level.
    pub(crate) fn choice_of_bits(&mut self, at: Site, cond: (Id, u32), arms: [Id; 2]) -> Result<Id> {
        let (yes, no) = (self.bits(at, arms[0])?, self.bits(at, arms[1])?);
        let mask = self.mask(at, cond)?;
        let words = self.vector_type(DType::I32, self.word_count(at))?;
        let differing = self.ins(at.level, Op::BitwiseXor, words, &[yes, no]);
        let taken = self.ins(at.level, Op::BitwiseAnd, words, &[differing, mask]);
        let bits = self.ins(at.level, Op::BitwiseXor, words, &[no, taken]);
        self.of_bits(at, bits)
    }

    /// A number's bits; a single half's in both halves of a word.
    pub(crate) fn bits(&mut self, at: Site, id: Id) -> Result<Id> {
        let words = self.vector_type(DType::I32, self.word_count(at))?;
        let mut whole = id;
        if self.is_half(at) && at.n == 1 {
            let pair = self.vector_type(DType::F16, 2)?;
            whole = self.ins(at.level, Op::CompositeConstruct, pair, &[id; 2]);
        }
        Ok(self.ins(at.level, Op::Bitcast, words, &[whole]))
    }

    /// The number that bits are.
    pub(crate) fn of_bits(&mut self, at: Site, bits: Id) -> Result<Id> {
        if !self.is_half(at) || at.n > 1 {
            return self.same(at, Op::Bitcast, &[bits]);
        }
        let (pair, half) = (self.vector_type(DType::F16, 2)?, self.vector_type(DType::F16, 1)?);
        let pair = self.ins(at.level, Op::Bitcast, pair, &[bits]);
        Ok(self.ins(at.level, Op::CompositeExtract, half, &[pair, 0]))
    }

    /// The bits of the first number where the condition holds: all of them or none, which a compiler does not know.
    fn mask(&mut self, at: Site, (cond, level): (Id, u32)) -> Result<Id> {
        let is_half = self.is_half(at);
        // What stands before all loops is written once.
        if let Some(mask) = self.opaque.masks.get(&(cond, is_half)).filter(|_| level == 0) {
            return Ok(*mask);
        }
        let count = self.word_count(at);
        let words = self.vector_type(DType::I32, count)?;
        let known = match is_half && at.n > 1 {
            true => self.mask_of_pairs(level, cond, count)?,
            false => {
                let (all, none) = (self.all(DType::I32, count, u32::MAX)?, self.all(DType::I32, count, 0)?);
                self.ins(level, Op::Select, words, &[cond, all, none])
            }
        };
        let zero = self.zero_of(DType::I32, count, false)?;
        let mask = self.ins(level, Op::BitwiseXor, words, &[known, zero]);
        if level == 0 {
            self.opaque.masks.insert((cond, is_half), mask);
        }
        Ok(mask)
    }

    /// The same, of two conditions to a word.
    fn mask_of_pairs(&mut self, level: u32, cond: Id, count: u32) -> Result<Id> {
        let (bool, word) = (self.vector_type(DType::Bool, 1)?, self.vector_type(DType::I32, 1)?);
        let none = self.all(DType::I32, 1, 0)?;
        let mut masks = Vec::with_capacity(count as usize);
        for n in 0..count {
            let mut parts = [0; 2];
            for (half, part) in (0..).zip(&mut parts) {
                let all = self.all(DType::I32, 1, HALVES[half as usize])?;
                let one = self.ins(level, Op::CompositeExtract, bool, &[cond, 2 * n + half]);
                *part = self.ins(level, Op::Select, word, &[one, all, none]);
            }
            masks.push(self.ins(level, Op::BitwiseOr, word, &parts));
        }
        if count == 1 {
            return Ok(masks[0]);
        }
        let words = self.vector_type(DType::I32, count)?;
        Ok(self.ins(level, Op::CompositeConstruct, words, &masks))
    }

    /// How many words the bits of a site's numbers are.
    pub(crate) fn word_count(&self, at: Site) -> u32 {
        if self.is_half(at) { at.n.div_ceil(2) } else { at.n }
    }

    fn is_half(&self, at: Site) -> bool {
        at.dtype == DType::F16 && self.native_f16()
    }
}
