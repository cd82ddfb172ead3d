//! Values of narrow dtypes as the words that they are in memory. A copy moves the words, and elements are unpacked only where an operation
//! needs them.

use super::packed::words_of;
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::Op;
use tilewright_codegen::hash::Map;
use tilewright_codegen::values::{Kind, Op as ValueOp, ValueId};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::local_bytes::is_stored_narrow;
use tilewright_dsl::nest::{BufferId, Space};

/// The values that were loaded or packed, in the form that memory has.
#[derive(Default)]
pub(crate) struct PackedValues(Map<ValueId, Packed>);

/// A value in the form that memory has.
#[derive(Clone, Copy)]
struct Packed {
    /// The dtype of its elements.
    dtype: DType,
    /// A vector of elements of 8 or 16 bits, if it was loaded from shared memory.
    vector: Option<Id>,
    /// Words of packed elements, once they are known.
    words: Option<Id>,
}

/// The result of a load.
pub(crate) enum Loaded {
    /// Elements in the form that instructions compute with.
    Elements(Chunks),
    /// Words of packed elements.
    Words(Id),
    /// A vector of elements of 8 or 16 bits.
    Vector(Id),
}

impl BlockContext<'_> {
    /// Records the result of a load. Words are unpacked when elements are needed.
    pub(crate) fn define_loaded(&mut self, value: ValueId, buffer: BufferId, loaded: Loaded) {
        let (vector, words) = match loaded {
            Loaded::Elements(chunks) => return self.define(value, chunks),
            Loaded::Words(words) => (None, Some(words)),
            Loaded::Vector(vector) => (Some(vector), None),
        };
        self.words.0.insert(value, Packed { dtype: self.program.buffers[buffer].dtype, vector, words });
    }

    /// Unpacks a value, if it was loaded in the form that memory has.
    pub(crate) fn unpacked_value(&mut self, value: ValueId) -> Result<Option<Chunks>> {
        let Some(Packed { dtype, vector, words }) = self.words.0.get(&value).copied() else { return Ok(None) };
        let node = self.resolver.values.node(value);
        let (width, level) = (node.width, node.level);
        let chunks = match (vector, words) {
            (Some(vector), _) => self.after_load(vector, dtype, width, level, false)?,
            (None, Some(words)) => self.unpacked(words, dtype, width, level)?,
            (None, None) => return Ok(None),
        };
        self.define(value, chunks);
        Ok(Some(chunks))
    }

    /// Returns a whole value as words of packed elements.
    pub(crate) fn packed_value(&mut self, value: ValueId, dtype: DType) -> Result<Id> {
        let node = self.resolver.values.node(value);
        let (width, level) = (node.width, node.level);
        if let Some(words) = self.words_of_value(value, dtype, (0, width))? {
            return Ok(words);
        }
        let chunks = self.value(value)?;
        let words = self.packed(&chunks, dtype, width, level);
        self.words.0.get_or_insert_with(value, || Packed { dtype, vector: None, words: Some(words) });
        Ok(words)
    }

    /// Returns `count` elements of a value from `first` on in the form that a buffer holds them, if they are packed already.
    pub(super) fn words_in_memory(&mut self, buffer: BufferId, value: ValueId, of: (u32, u32)) -> Result<Option<Id>> {
        let b = &self.program.buffers[buffer];
        // The words of an `i64` in memory may be another number than its value.
        if b.dtype == DType::I64 {
            return Ok(None);
        }
        let is_narrow = b.space.is_global() || b.space == Space::Shared && is_stored_narrow(b.dtype, self.profile);
        if !is_narrow || words_of(b.dtype, of.1).is_none() {
            return Ok(None);
        }
        let Some(words) = self.words_of_value(value, b.dtype, of)? else { return Ok(None) };
        if b.space.is_global() {
            return Ok(Some(words));
        }
        let scalar = self.narrow_integer(b.dtype);
        let ty = self.module.vector(scalar, of.1);
        Ok(Some(self.ins_here(Op::Bitcast, ty, &[words])))
    }

    /// Returns the words of `count` elements of a value from `first` on, unless they would have to be packed.
    fn words_of_value(&mut self, value: ValueId, dtype: DType, (first, count): (u32, u32)) -> Result<Option<Id>> {
        if let Some(literal) = self.resolver.values.literal(value) {
            return Ok(self.literal_words(dtype.to_bits(literal.value()), dtype, count));
        }
        let node = self.resolver.values.node(value).clone();
        if let Some(words) = self.loaded_words(value, dtype)? {
            return Ok(self.some_words(words, (dtype, node.width), (first, count), node.level));
        }
        match &node.kind {
            Kind::Op(ValueOp::Part(n), of) => self.words_of_value(of[0], dtype, (n * 4 + first, count)),
            Kind::Op(ValueOp::Join, parts) => {
                let each = node.width / parts.len() as u32;
                let is_within = each > 1 && first % each + count <= each;
                let part = parts[(first / each) as usize];
                if is_within { self.words_of_value(part, dtype, (first % each, count)) } else { Ok(None) }
            }
            Kind::Op(ValueOp::Select, of) => self.selected_words(of, dtype, (first, count), node.level),
            _ => Ok(None),
        }
    }

    /// Returns the words of a value that is loaded from memory in whole words.
    fn loaded_words(&mut self, value: ValueId, dtype: DType) -> Result<Option<Id>> {
        if !self.words.0.contains_key(&value)
            && let Kind::Load(load) = self.resolver.values.node(value).kind
            && self.program.buffers[load.buffer].space.is_global()
            && words_of(self.program.buffers[load.buffer].dtype, load.count).is_some()
        {
            let level = self.resolver.values.node(value).level;
            let loaded = self.load_at(load.buffer, load.index, load.count, level)?;
            self.define_loaded(value, load.buffer, loaded);
        }
        let Some(packed) = self.words.0.get(&value).copied().filter(|packed| packed.dtype == dtype) else { return Ok(None) };
        let (Some(vector), None) = (packed.vector, packed.words) else { return Ok(packed.words) };
        let node = self.resolver.values.node(value);
        let (width, level) = (node.width, node.level);
        let Some(ty) = words_of(dtype, width).map(|words| self.words_type(words)) else { return Ok(None) };
        let words = Some(self.ins(level, Op::Bitcast, ty, &[vector]));
        self.words.0.insert(value, Packed { words, ..packed });
        Ok(words)
    }

    /// Returns the words of a literal in every element.
    fn literal_words(&mut self, bits: u32, dtype: DType, count: u32) -> Option<Id> {
        let words = words_of(dtype, count)?;
        let word = (0..32 / dtype.bits()).fold(0, |word, n| word | bits << (n * dtype.bits()));
        let one = self.module.uint(word);
        let ty = self.words_type(words);
        Some(if words == 1 { one } else { self.module.composite(ty, &vec![one; words as usize]) })
    }

    /// Returns the words of `count` elements among all elements of a value.
    fn some_words(&mut self, words: Id, (dtype, width): (DType, u32), (first, count): (u32, u32), level: u32) -> Option<Id> {
        let per = 4 / dtype.bytes();
        let (some, start) = (words_of(dtype, count)?, first / per);
        if count == width {
            return Some(words);
        }
        if !first.is_multiple_of(per) {
            return None;
        }
        let word = self.module.u32_type();
        let parts: Vec<Id> = (start..start + some).map(|n| self.ins(level, Op::CompositeExtract, word, &[words, n])).collect();
        Some(self.joined(&parts, level))
    }

    /// Returns the words of a selection by one condition for all lanes.
    fn selected_words(&mut self, of: &[ValueId], dtype: DType, elements: (u32, u32), level: u32) -> Result<Option<Id>> {
        let [cond, yes, no] = *of else { return Ok(None) };
        let cond = match &self.resolver.values.node(cond).kind {
            Kind::Op(ValueOp::Splat(_), of) => of[0],
            _ => cond,
        };
        let Some(words) = words_of(dtype, elements.1).filter(|_| self.resolver.values.width(cond) == 1) else { return Ok(None) };
        let (yes, no) = (self.words_of_value(yes, dtype, elements)?, self.words_of_value(no, dtype, elements)?);
        let Some((yes, no)) = yes.zip(no) else { return Ok(None) };
        let mut cond = self.scalar(cond)?;
        let truth = self.module.bool_type();
        if words > 1 {
            let truths = self.module.vector(truth, words);
            cond = self.ins(level, Op::CompositeConstruct, truths, &vec![cond; words as usize]);
        }
        let ty = self.words_type(words);
        Ok(Some(self.ins(level, Op::Select, ty, &[cond, yes, no])))
    }
}
