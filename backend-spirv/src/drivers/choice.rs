//! Selects one of two values by a condition: with `OpSelect`, or by combining bits under a mask if the values are halves.
//!
//! A driver packs halves in pairs and miscompiles selections between them (`docs/drivers.md`). So no instruction selects between halves:
//! their bits are combined under a mask. The mask is hidden from the compiler, which would otherwise turn the combination into a selection
//! again.

use crate::Result;
use crate::context::BlockContext;
use crate::math::Site;
use crate::module::Id;
use crate::writer::Writer;
use spirv::Op;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::DType;

/// The bits of a word that hold its first half and its second half.
const HALVES: [u32; 2] = [0x0000_ffff, 0xffff_0000];

impl BlockContext<'_> {
    /// Selects one of two values.
    pub(crate) fn choice_of(&mut self, at: Site, ids: &[Id], of: &[ValueId]) -> Result<Id> {
        let arms = [ids[1], ids[2]];
        if self.is_half(at) || of[1..].iter().any(|arm| self.resolver.is_widened_half(*arm)) {
            let level = self.resolver.values.node(of[0]).level;
            return self.choice_of_bits(at, (ids[0], level), arms);
        }
        let [yes, no] = self.with_hidden_zeros(at, arms, [of[1], of[2]])?;
        self.same(at, Op::Select, &[ids[0], yes, no])
    }
}

impl Writer<'_> {
    /// Selects one of two numbers by combining their bits ([`BITS_OF_FIRST`](tilewright_dsl::expr::rules::BITS_OF_FIRST),
    /// [`BITS_OF_SECOND`](tilewright_dsl::expr::rules::BITS_OF_SECOND)). Numbers in f32 that were halves must be selected by this
    /// function too, because a compiler that sees through the conversions would select between the halves. The condition comes with its
    /// level.
    pub(crate) fn choice_of_bits(&mut self, at: Site, cond: (Id, u32), arms: [Id; 2]) -> Result<Id> {
        let (yes, no) = (self.bits(at, arms[0])?, self.bits(at, arms[1])?);
        let mask = self.mask(at, cond)?;
        let words = self.vector_type(DType::I32, self.word_count(at))?;
        let differing = self.ins(at.level, Op::BitwiseXor, words, &[yes, no]);
        let taken = self.ins(at.level, Op::BitwiseAnd, words, &[differing, mask]);
        let bits = self.ins(at.level, Op::BitwiseXor, words, &[no, taken]);
        self.of_bits(at, bits)
    }

    /// Returns a number's bits. The bits of a single half are put in both halves of the word.
    pub(crate) fn bits(&mut self, at: Site, id: Id) -> Result<Id> {
        let words = self.vector_type(DType::I32, self.word_count(at))?;
        let mut whole = id;
        if self.is_half(at) && at.n == 1 {
            let pair = self.vector_type(DType::F16, 2)?;
            whole = self.ins(at.level, Op::CompositeConstruct, pair, &[id; 2]);
        }
        Ok(self.ins(at.level, Op::Bitcast, words, &[whole]))
    }

    /// Returns the number that has these bits.
    pub(crate) fn of_bits(&mut self, at: Site, bits: Id) -> Result<Id> {
        if !self.is_half(at) || at.n > 1 {
            return self.same(at, Op::Bitcast, &[bits]);
        }
        let (pair, half) = (self.vector_type(DType::F16, 2)?, self.vector_type(DType::F16, 1)?);
        let pair = self.ins(at.level, Op::Bitcast, pair, &[bits]);
        Ok(self.ins(at.level, Op::CompositeExtract, half, &[pair, 0]))
    }

    /// Returns a mask whose bits are all 1 if the condition holds, and all 0 otherwise. A hidden zero is combined into it, so that a
    /// compiler does not know this.
    fn mask(&mut self, at: Site, (cond, level): (Id, u32)) -> Result<Id> {
        let is_half = self.is_half(at);
        // A mask at level 0 precedes all loops, so it is written once and reused.
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

    /// Returns such a mask for halves, with two conditions to a word.
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

    /// Returns the number of 32-bit words that hold the bits of a site's numbers.
    pub(crate) fn word_count(&self, at: Site) -> u32 {
        if self.is_half(at) { at.n.div_ceil(2) } else { at.n }
    }

    fn is_half(&self, at: Site) -> bool {
        at.dtype == DType::F16 && self.native_f16()
    }
}
