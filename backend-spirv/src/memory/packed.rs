//! Elements of narrow dtypes in memory. Accesses of whole words load and store words and need no feature: elements are unpacked from their
//! bits, and packed into them. Other accesses have the type of 8 or 16 bits, for which conversions are the only instructions.

use crate::Result;
use crate::chunks::Chunks;
use crate::module::{Id, Type};
use crate::writer::Writer;
use spirv::{Capability, Op};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::local_bytes::is_stored_narrow;
use tilewright_dsl::profile::Profile;

/// Returns the number of words that `count` elements of a narrow dtype are, if they are whole words. `None` for other dtypes.
pub(super) fn words_of(dtype: DType, count: u32) -> Option<u32> {
    let bytes = dtype.bytes() * count;
    (dtype.is_narrow() && bytes.is_multiple_of(4)).then_some(bytes / 4)
}

/// Returns the positions in their words of the bits of four consecutive elements, or of `n`.
fn shifts(dtype: DType, n: u32) -> impl Iterator<Item = u32> {
    (0..n).map(move |element| element * dtype.bits() % 32)
}

/// Types.
impl Writer<'_> {
    /// Returns the type that `count` elements of a narrow dtype have in device memory.
    pub(super) fn packed_type(&mut self, dtype: DType, count: u32) -> Result<Id> {
        if let Some(words) = words_of(dtype, count) {
            return Ok(self.words_type(words));
        }
        let (feature, capability, wide) = match dtype.bytes() {
            1 => (Feature::Storage8, Capability::StorageBuffer8BitAccess, "i32"),
            _ => (Feature::Storage16, Capability::StorageBuffer16BitAccess, if dtype.is_float() { "f32" } else { "i32" }),
        };
        let profiles = Profile::that_have(feature);
        let help = format!("take {profiles}, vectors of {} elements, or tensors of `{wide}`", 4 / dtype.bytes());
        self.need(feature, &format!("`{dtype}` in memory"), help)?;
        self.module.capability(capability);
        if feature == Feature::Storage8 {
            self.module.extension("SPV_KHR_8bit_storage");
        }
        if self.by_address {
            // Once push constants point to such elements, the validator counts even loads of them as arithmetic.
            self.narrow_integer(dtype);
        }
        let scalar = self.module.ty(Type::Narrow { bits: dtype.bits(), signed: false });
        Ok(self.module.vector(scalar, count))
    }

    /// Returns the unsigned integer type of a narrow dtype's bits, for profiles that have arithmetic on the type, which it declares.
    pub(crate) fn narrow_integer(&mut self, dtype: DType) -> Id {
        let (feature, capability) =
            if dtype.bytes() == 1 { (Feature::I8, Capability::Int8) } else { (Feature::I16, Capability::Int16) };
        self.features.insert(feature);
        self.module.capability(capability);
        self.module.ty(Type::Narrow { bits: dtype.bits(), signed: false })
    }

    /// Returns the number of elements that an unsigned vector of literals has, one for each shift.
    fn literals(&mut self, each: impl Iterator<Item = u32>) -> Id {
        let ids: Vec<Id> = each.map(|n| self.module.uint(n)).collect();
        if let [one] = ids[..] {
            return one;
        }
        let word = self.module.u32_type();
        let ty = self.module.vector(word, ids.len() as u32);
        self.module.composite(ty, &ids)
    }

    /// Returns the type of some words.
    pub(super) fn words_type(&mut self, words: u32) -> Id {
        let word = self.module.u32_type();
        self.module.vector(word, words)
    }
}

/// Loads.
impl Writer<'_> {
    /// Converts loaded elements of a narrow dtype to the dtype that instructions compute with.
    pub(super) fn after_narrow_load(&mut self, loaded: Id, dtype: DType, count: u32, level: u32, global: bool) -> Result<Chunks> {
        match words_of(dtype, count) {
            Some(_) if global => self.unpacked(loaded, dtype, count, level),
            _ if global || is_stored_narrow(dtype, self.profile) => self.widened(loaded, dtype, count, level).map(Chunks::one),
            _ => Ok(Chunks::one(loaded)),
        }
    }

    /// Converts elements of an integer type of 8 or 16 bits.
    fn widened(&mut self, loaded: Id, dtype: DType, count: u32, level: u32) -> Result<Id> {
        let to = self.vector_type(dtype, count)?;
        if dtype.is_signed_int() {
            return Ok(self.ins(level, Op::SConvert, to, &[loaded]));
        }
        let unsigned = self.words_type(count);
        let mut bits = self.ins(level, Op::UConvert, unsigned, &[loaded]);
        if dtype.is_float() {
            let by = self.literals((0..count).map(|_| 16));
            bits = self.ins(level, Op::ShiftLeftLogical, unsigned, &[bits, by]);
        }
        Ok(self.ins(level, Op::Bitcast, to, &[bits]))
    }

    /// Unpacks elements from words.
    pub(super) fn unpacked(&mut self, loaded: Id, dtype: DType, count: u32, level: u32) -> Result<Chunks> {
        if dtype == DType::I64 {
            return Ok(Chunks::one(self.nearest_of_64(loaded, count, level)));
        }
        let (each, per) = (count.min(4), 4 / dtype.bytes());
        let words = count / per;
        let unsigned = self.words_type(each);
        let to = self.vector_type(dtype, each)?;
        (0..count / each)
            .map(|chunk| {
                let word_of = |n: u32| (chunk * each + n) / per;
                let spread = if words == 1 {
                    self.ins(level, Op::CompositeConstruct, unsigned, &vec![loaded; each as usize])
                } else {
                    let operands: Vec<u32> = [loaded, loaded].into_iter().chain((0..each).map(word_of)).collect();
                    self.ins(level, Op::VectorShuffle, unsigned, &operands)
                };
                self.unpacked_chunk(spread, dtype, (unsigned, to), each, level)
            })
            .collect()
    }

    /// Unpacks elements, each from its own word.
    fn unpacked_chunk(&mut self, words: Id, dtype: DType, (unsigned, to): (Id, Id), n: u32, level: u32) -> Result<Id> {
        let unused = 32 - dtype.bits();
        if !dtype.is_float() && !dtype.is_signed_int() {
            let (by, mask) = (self.literals(shifts(dtype, n)), self.literals((0..n).map(|_| u32::MAX >> unused)));
            let low = self.ins(level, Op::ShiftRightLogical, unsigned, &[words, by]);
            let bits = self.ins(level, Op::BitwiseAnd, unsigned, &[low, mask]);
            return Ok(self.ins(level, Op::Bitcast, to, &[bits]));
        }
        // The element's bits are moved to the top, where a float is the upper half of an f32, and an integer has its sign.
        let by = self.literals(shifts(dtype, n).map(|shift| unused - shift));
        let high = self.ins(level, Op::ShiftLeftLogical, unsigned, &[words, by]);
        if dtype.is_float() {
            let mask = self.literals((0..n).map(|_| u32::MAX << unused));
            let bits = self.ins(level, Op::BitwiseAnd, unsigned, &[high, mask]);
            return Ok(self.ins(level, Op::Bitcast, to, &[bits]));
        }
        let (high, down) = (self.ins(level, Op::Bitcast, to, &[high]), self.literals((0..n).map(|_| unused)));
        Ok(self.ins(level, Op::ShiftRightArithmetic, to, &[high, down]))
    }
}

/// Stores.
impl Writer<'_> {
    /// Converts elements of a narrow dtype to the form that they have in memory.
    pub(super) fn before_narrow_store(&mut self, chunks: &[Id], dtype: DType, count: u32, global: bool) -> Result<Id> {
        match words_of(dtype, count) {
            Some(_) if global => Ok(self.packed(chunks, dtype, count, self.level())),
            _ if global || is_stored_narrow(dtype, self.profile) => self.shortened(chunks[0], dtype, count, global),
            _ => Ok(chunks[0]),
        }
    }

    /// Returns the bits of elements in the low bits of words, with anything above them.
    fn bits_of_elements(&mut self, value: Id, dtype: DType, n: u32, level: u32) -> Id {
        let unsigned = self.words_type(n);
        let bits = self.ins(level, Op::Bitcast, unsigned, &[value]);
        if !dtype.is_float() {
            return bits;
        }
        let by = self.literals((0..n).map(|_| 16));
        self.ins(level, Op::ShiftRightLogical, unsigned, &[bits, by])
    }

    /// Converts elements to an integer type of 8 or 16 bits.
    fn shortened(&mut self, value: Id, dtype: DType, count: u32, global: bool) -> Result<Id> {
        let scalar = if global { self.packed_type(dtype, 1)? } else { self.narrow_integer(dtype) };
        let to = self.module.vector(scalar, count);
        let bits = self.bits_of_elements(value, dtype, count, self.level());
        Ok(self.ins_here(Op::UConvert, to, &[bits]))
    }

    /// Packs elements into words.
    pub(super) fn packed(&mut self, chunks: &[Id], dtype: DType, count: u32, level: u32) -> Id {
        if dtype == DType::I64 {
            return self.extended_to_64(chunks[0], count, level);
        }
        let (each, per) = (count.min(4), 4 / dtype.bytes());
        let (word, unsigned) = (self.module.u32_type(), self.words_type(each));
        let mut all = Vec::new();
        for chunk in chunks {
            let mut bits = self.bits_of_elements(*chunk, dtype, each, level);
            if dtype.is_signed_int() {
                let mask = self.literals((0..each).map(|_| u32::MAX >> (32 - dtype.bits())));
                bits = self.ins(level, Op::BitwiseAnd, unsigned, &[bits, mask]);
            }
            let by = self.literals(shifts(dtype, each));
            let placed = self.ins(level, Op::ShiftLeftLogical, unsigned, &[bits, by]);
            let parts: Vec<Id> = (0..each).map(|n| self.ins(level, Op::CompositeExtract, word, &[placed, n])).collect();
            for parts in parts.chunks(per as usize) {
                let whole = parts.iter().copied().reduce(|a, b| self.ins(level, Op::BitwiseOr, word, &[a, b]));
                all.extend(whole);
            }
        }
        self.joined(&all, level)
    }
    /// Joins words.
    pub(super) fn joined(&mut self, words: &[Id], level: u32) -> Id {
        if let [one] = words {
            return *one;
        }
        let to = self.words_type(words.len() as u32);
        self.ins(level, Op::CompositeConstruct, to, words)
    }
}
