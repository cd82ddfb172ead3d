//! Loads and stores of memory: how many elements each access covers, and the instructions that perform it.

use super::packed::words_of;
use super::packed_values::Loaded;
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::module::Id;
use crate::writer::Writer;
use smallvec::SmallVec;
use spirv::Op;
use tilewright_codegen::View;
use tilewright_codegen::values::ValueId;
use tilewright_codegen::values::poly::ByLane;
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::local_bytes::is_stored_narrow;
use tilewright_dsl::nest::{Access, BufferId, Space};

/// The pointer, value and alignment of a store.
type Store = (Id, Id, Option<u32>);

impl BlockContext<'_> {
    /// Writes a load.
    pub(crate) fn load_at(&mut self, buffer: BufferId, index: ValueId, count: u32, level: u32) -> Result<Loaded> {
        let place = self.place(buffer, index, count, level)?;
        let mut operands: SmallVec<[u32; 3]> = SmallVec::from_slice(&[place.pointer]);
        operands.extend(self.memory_operands(buffer, place.aligned));
        let loaded = self.ins(level, Op::Load, place.of, &operands);
        // The elements of a constant table are stored in the type that instructions compute with. So are bools.
        let b = &self.program.buffers[buffer];
        if let Space::Constant(_) = b.space {
            return Ok(Loaded::Elements(Chunks::one(loaded)));
        }
        if words_of(b.dtype, count).is_some() {
            if b.space.is_global() {
                return Ok(Loaded::Words(loaded));
            }
            if is_stored_narrow(b.dtype, self.profile) {
                return Ok(Loaded::Vector(loaded));
            }
        }
        self.after_load(loaded, b.dtype, count, level, b.space.is_global()).map(Loaded::Elements)
    }

    /// Returns the memory operands for a load or store of a buffer. `aligned` is the alignment in bytes.
    pub(crate) fn memory_operands(&self, buffer: BufferId, aligned: Option<u32>) -> SmallVec<[u32; 2]> {
        let is_written = || self.resolver.uses.of(buffer).is_some_and(|(_, usage)| usage.writes);
        let is_shared = self.program.buffers[buffer].space == Space::Shared || self.memory_model.is_coherent && is_written();
        self.memory_model.operands(is_shared, aligned)
    }

    /// Writes a value to a place if the predicates of the compute hold.
    pub(crate) fn store(&mut self, to: &Access, value: ValueId) -> Result<()> {
        match self.program.buffers[to.buffer].space {
            Space::Register => self.write_register(to.buffer, &to.index, value),
            Space::Fragment { .. } => Err(self.defect("one element is written to a matrix")),
            _ => self.store_memory(to, value),
        }
    }

    fn store_memory(&mut self, to: &Access, value: ValueId) -> Result<()> {
        let (flat, guard) = self.place_and_guard(to, View::ALL)?;
        let lanes = self.resolver.lane_count();
        // The first of consecutive elements, the elements of each store, and the number of stores.
        let wide = match self.resolver.values.by_lane(flat) {
            _ if self.resolver.values.width(guard) > 1 => None,
            ByLane::Uniform if self.resolver.values.width(value) == 1 => Some((flat, 1, 1)),
            ByLane::Linear { base, step: 1 } => {
                self.resolver.wide(to.buffer, base, lanes).map(|count| (base, count, lanes / count))
            }
            _ => None,
        };
        let Some((base, count, stores)) = wide else {
            return (0..lanes).try_for_each(|lane| {
                let one = self.resolver.values.extract(value, lane);
                self.store_lane(to, one, View::ALL.lane(lane))
            });
        };
        let value = self.resolver.values.widen(value, stores * count);
        let one = |n: u32| {
            let offset = self.resolver.values.int((n * count).into());
            let at = self.resolver.values.plus(base, offset);
            self.prepare(to.buffer, at, count, value, n)
        };
        let stores: SmallVec<[Store; 2]> = (0..stores).map(one).collect::<Result<_>>()?;
        self.write(to.buffer, guard, &stores)
    }

    /// Returns the index that a store writes to, and the condition under which it is executed.
    fn place_and_guard(&mut self, to: &Access, view: View) -> Result<(ValueId, ValueId)> {
        self.resolving(|r| Ok((r.place_in(to.buffer, &to.index, view)?.0, r.in_range(view)?)))
    }

    /// Stores one lane's value.
    pub(crate) fn store_one(&mut self, to: &Access, value: ValueId, view: View) -> Result<()> {
        match self.program.buffers[to.buffer].space {
            Space::Register => self.write_register_lane(to.buffer, &to.index, value, view),
            _ => self.store_lane(to, value, view),
        }
    }

    /// Stores one lane's value to device or shared memory.
    pub(crate) fn store_lane(&mut self, to: &Access, value: ValueId, view: View) -> Result<()> {
        let (flat, guard) = self.place_and_guard(to, view)?;
        let store = self.prepare(to.buffer, flat, 1, value, 0)?;
        self.write(to.buffer, guard, &[store])
    }

    /// Computes the pointer and the value that a store needs.
    fn prepare(&mut self, buffer: BufferId, flat: ValueId, count: u32, value: ValueId, n: u32) -> Result<Store> {
        self.classes.write(&self.resolver.values, buffer, value);
        let b = &self.program.buffers[buffer];
        let words = self.words_in_memory(buffer, value, (n * count, count))?;
        if let Some(stored) = words {
            return self.stored_at(buffer, flat, count, stored);
        }
        let chunks = self.value(value)?;
        let each = chunks.len().min((count as usize).div_ceil(4));
        let first = n as usize * each;
        let stored = self.before_store(&chunks[first..first + each], b.dtype, count, b.space.is_global())?;
        self.stored_at(buffer, flat, count, stored)
    }

    /// Returns the store of a value in the form that it has in memory.
    fn stored_at(&mut self, buffer: BufferId, flat: ValueId, count: u32, stored: Id) -> Result<Store> {
        let index = self.resolver.values.divided(flat, count.into());
        let level = self.level();
        let place = self.place(buffer, index, count, level)?;
        Ok((place.pointer, stored, place.aligned))
    }

    /// Writes stores under a condition.
    fn write(&mut self, buffer: BufferId, guard: ValueId, stores: &[Store]) -> Result<()> {
        let guard = match self.resolver.values.as_bool(guard) {
            Some(true) => None,
            Some(false) => return Ok(()),
            None => Some(self.scalar(guard)?),
        };
        let level = self.level();
        let merge = guard.map(|cond| self.begin_if(level, cond));
        for (pointer, value, aligned) in stores {
            let mut operands: SmallVec<[u32; 4]> = SmallVec::from_slice(&[*pointer, *value]);
            operands.extend(self.memory_operands(buffer, *aligned));
            self.function.here().op(Op::Store, &operands);
        }
        if let Some(merge) = merge {
            self.end_if(level, merge);
        }
        self.resolver.forget_reads_of(buffer);
        Ok(())
    }
}

impl Writer<'_> {
    /// Converts loaded elements to the form that instructions compute with.
    pub(crate) fn after_load(&mut self, loaded: Id, dtype: DType, count: u32, level: u32, global: bool) -> Result<Chunks> {
        if dtype.is_narrow() {
            return self.after_narrow_load(loaded, dtype, count, level, global);
        }
        Ok(match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                let (pair, four) = (self.module.vector(word, 2), self.vector_type(dtype, 4)?);
                let half = |e: &mut Self, at: u32| {
                    let words = e.ins(level, Op::VectorShuffle, pair, &[loaded, loaded, at, at + 1]);
                    e.ins(level, Op::Bitcast, four, &[words])
                };
                [half(self, 0), half(self, 2)].into_iter().collect()
            }
            DType::F16 if global && !self.native_f16() => {
                let ty = self.vector_type(DType::F32, count)?;
                Chunks::one(self.ins(level, Op::FConvert, ty, &[loaded]))
            }
            DType::Bool => {
                let zero = self.all(DType::U32, count, 0)?;
                let ty = self.vector_type(DType::Bool, count)?;
                Chunks::one(self.ins(level, Op::INotEqual, ty, &[loaded, zero]))
            }
            _ => Chunks::one(loaded),
        })
    }

    /// Converts a value to the form that it has in memory.
    pub(crate) fn before_store(&mut self, chunks: &[Id], dtype: DType, count: u32, global: bool) -> Result<Id> {
        if dtype.is_narrow() {
            return self.before_narrow_store(chunks, dtype, count, global);
        }
        let level = self.level();
        Ok(match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                let (pair, four) = (self.module.vector(word, 2), self.module.vector(word, 4));
                let low = self.ins(level, Op::Bitcast, pair, &[chunks[0]]);
                let high = self.ins(level, Op::Bitcast, pair, &[chunks[1]]);
                self.ins(level, Op::VectorShuffle, four, &[low, high, 0, 1, 2, 3])
            }
            DType::F16 if global && !self.native_f16() => {
                let ty = self.memory_type(dtype, count)?;
                self.ins(level, Op::FConvert, ty, &[chunks[0]])
            }
            DType::Bool => {
                let (one, zero) = (self.all(DType::U32, count, 1)?, self.all(DType::U32, count, 0)?);
                let ty = self.memory_type(dtype, count)?;
                self.ins(level, Op::Select, ty, &[chunks[0], one, zero])
            }
            _ => chunks[0],
        })
    }
}
