//! Access to memory: which elements at a time, and the loads and stores themselves.

use crate::chunks::Chunks;
use crate::emit::{Emit, Result};
use crate::hash::Map;
use crate::indices::Extents;
use crate::module::{Id, Type};
use crate::resolve::View;
use crate::values::poly::{ByLane, Term};
use crate::values::{Kind, Load, Op as ValueOp, Operands, ValueId};
use rspirv::spirv::{MemoryAccess, Op, SelectionControl};
use smallvec::SmallVec;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::launch::{Bounds, DType, REACH};
use tilewright_dsl::nest::{Access, BufferId, Space};

/// Where lanes write.
enum Target {
    /// All to consecutive elements from here on, so many at a time.
    Wide(ValueId, u32),
    /// Each to its own.
    Scattered,
}

impl Emit<'_> {
    /// [`Emit::flat`] of indices that were not asked for before, and of extents that may be known.
    pub(crate) fn new_flat(&mut self, buffer: BufferId, index: &[ValueId], extents: Option<&Extents>) -> Result<ValueId> {
        let b = &self.program.buffers[buffer];
        let versions = usize::from(b.versions > 1);
        if index.len() != b.shape.len() + versions {
            return Err(self.error(format!("`{}` has {} dimensions, not {}", b.name, b.shape.len(), index.len() - versions)));
        }
        let mut flat = self.values.int(0);
        if versions == 1 {
            let count = self.values.int(b.versions.into());
            flat = self.values.floor_mod(index[0], count);
        }
        let row = index.len().checked_sub(2).map(|at| index[at]);
        for (n, (extent, index)) in b.shape.iter().zip(&index[versions..]).enumerate() {
            let last = n + 1 == b.shape.len();
            let index = if last && b.swizzle > 0 { self.swizzled(buffer, row, *index)? } else { *index };
            let mut extent = match extents {
                Some(extents) => extents[n],
                None => self.resolve_in(*extent, View::ALL)?.0,
            };
            if last && b.row_pad > 0 {
                let pad = self.values.int(b.row_pad.into());
                extent = self.values.plus(extent, pad);
            }
            let (rows, index) = (self.values.times(flat, extent), self.values.as_index(index));
            flat = self.values.plus(rows, index);
        }
        Ok(flat)
    }

    /// Where an element of a swizzled row lies: its group's number is permuted by the row's. Lanes within one group stay
    /// consecutive.
    fn swizzled(&mut self, buffer: BufferId, row: Option<ValueId>, index: ValueId) -> Result<ValueId> {
        let b = &self.program.buffers[buffer];
        let by = i64::from(b.swizzle);
        let length = b.shape.last().and_then(|e| self.program.exprs.as_int(*e)).unwrap_or(0);
        let groups = length / by;
        let (Some(row), true) = (row, groups > 0) else { return Ok(index) };
        let modulo = self.values.int(groups & groups.wrapping_neg());
        let permuted = self.values.floor_mod(row, modulo);
        let width = self.values.width(index);
        let (at, lane) = match self.values.by_lane(index) {
            ByLane::Linear { base, step: 1 } if by % i64::from(width) == 0 && self.values.is_multiple(base, width.into()) => {
                (base, Some(self.values.lane(width)))
            }
            _ => (index, None),
        };
        let group = self.values.int(by);
        let (number, within) = (self.values.floor_div(at, group), self.values.floor_mod(at, group));
        let number = self.values.apply(ValueOp::Binary(tilewright_dsl::expr::Binary::Xor), &[number, permuted]);
        let start = self.values.times(number, group);
        let place = self.values.plus(start, within);
        Ok(match lane {
            Some(lane) => self.values.plus(place, lane),
            None => place,
        })
    }

    /// What a read gives at a row-major index, over all lanes. `None`: each lane must read for itself.
    pub(crate) fn fetch_lanes(&mut self, id: ExprId, buffer: BufferId, flat: ValueId) -> Result<Option<ValueId>> {
        match self.values.by_lane(flat) {
            ByLane::Uniform => self.fetch_grouped(id, buffer, flat).map(Some),
            ByLane::Linear { base, step: 1 } => {
                let width = self.values.width(flat);
                let Some(count) = self.wide(buffer, base, width) else { return Ok(None) };
                let parts: Result<Operands> = (0..width / count)
                    .map(|n| {
                        let offset = self.values.int((n * count).into());
                        let at = self.values.plus(base, offset);
                        self.fetch(buffer, at, count)
                    })
                    .collect();
                let parts = parts?;
                Ok(Some(if parts.len() == 1 { parts[0] } else { self.values.op(ValueOp::Join, parts) }))
            }
            _ => Ok(None),
        }
    }

    /// How many elements at a time `width` consecutive ones can be reached by, if not one by one.
    fn wide(&self, buffer: BufferId, base: ValueId, width: u32) -> Option<u32> {
        let b = &self.program.buffers[buffer];
        let at_once = match b.space {
            Space::Constant(_) => return None,
            Space::Shared => {
                let group = self.shared_group(buffer);
                (group > 1 && group == width.min(4)).then_some(group)?
            }
            _ if b.dtype == DType::F16 && width >= 8 && self.native_f16() && self.values.is_multiple(base, 8) => 8,
            _ => width.min(4),
        };
        self.values.is_multiple(base, at_once.into()).then_some(at_once)
    }

    /// One element; loaded together with its neighbours, if unrolled iterations read those.
    fn fetch_grouped(&mut self, id: ExprId, buffer: BufferId, flat: ValueId) -> Result<ValueId> {
        if let Space::Constant(data) = &self.program.buffers[buffer].space
            && let Some(c) = self.values.as_int(flat).and_then(|at| data.get(usize::try_from(at).ok()?))
        {
            return Ok(self.values.constant(*c));
        }
        let group = self.group_of(id, buffer)?;
        let sum = self.values.as_sum(flat);
        let offset = sum.constant.rem_euclid(group.into());
        if group > 1 && !sum.lost && sum.terms.iter().all(|t| t.by % i64::from(group) == 0) {
            let offset_value = self.values.int(offset);
            let base = self.values.minus(flat, offset_value);
            let vector = self.fetch(buffer, base, group)?;
            return Ok(self.values.extract(vector, offset as u32));
        }
        self.fetch(buffer, flat, 1)
    }

    /// How many elements at once a read of the compute at hand should load: 4 or 2, if an axis that is written out runs
    /// over consecutive ones and that many of them.
    fn group_of(&mut self, id: ExprId, buffer: BufferId) -> Result<u32> {
        if self.unrolled.is_empty() {
            return Ok(1);
        }
        let key = (self.compute, id);
        if let Some(known) = self.groups.get(&key) {
            return Ok(*known);
        }
        self.groups.insert(key, 1);
        let group = match self.program.buffers[buffer].space {
            Space::Constant(_) => 1,
            // What another invocation has written of the group meanwhile is not this one's to read.
            ref space if space.is_global() && self.buffers.coherent && !self.is_constant(buffer) => 1,
            Space::Shared if self.shared_group(buffer) == 1 => 1,
            _ => self.consecutive(id, buffer)?,
        };
        self.groups.insert(key, group);
        Ok(group)
    }

    /// Looks at a read with the unrolled axes as unknowns: does one of them count consecutive elements?
    fn consecutive(&mut self, id: ExprId, buffer: BufferId) -> Result<u32> {
        let program = self.program;
        let Expr::Read(read) = program.exprs.get(id) else { return Ok(1) };
        let unrolled = self.unrolled.clone();
        let is_unrolled = &mut |axis| unrolled.iter().any(|(a, _)| program.is_made_of(axis, *a));
        // Which element of what is written meanwhile? That of an unknown cannot be read.
        let mut is_of_unknown = |e: &Expr| match e {
            Expr::Read(r) => !self.is_constant(r.buffer) && r.index.iter().any(|i| program.exprs.uses_axis(*i, is_unrolled)),
            _ => false,
        };
        if read.index.iter().any(|i| program.exprs.any(*i, &mut is_of_unknown)) {
            return Ok(1);
        }
        let mut unknowns = Vec::new();
        let before = self.bound.clone();
        let resolved = std::mem::take(&mut self.resolved);
        for (axis, extent) in &unrolled {
            let unknown = self.values.unknown(Bounds(0, i64::from(*extent) - 1));
            unknowns.push((unknown, *extent));
            self.bound[axis.index()] = Some(crate::emit::Bound { value: unknown, owner: false });
        }
        let index: Result<Vec<ValueId>> = read.index.iter().map(|i| Ok(self.resolve_in(*i, View::ALL)?.0)).collect();
        // Neighbours that may lie outside are not loaded together, though each of them would be clamped.
        let flat = index.and_then(|mut index| {
            self.keep_inside(read, &mut index, View::ALL)?;
            self.flat(buffer, &index)
        });
        let all_read = self.loops_run_alike(&unknowns);
        self.bound = before;
        self.resolved = resolved;
        let (sum, all_read) = (self.values.as_sum(flat?), all_read?);
        if sum.lost {
            return Ok(1);
        }
        let runs = |t: &Term, (unknown, extent): &(ValueId, u32), group: u32| {
            t.factors.as_slice() == [*unknown] && t.by == 1 && extent % group == 0
        };
        // Groups that are read as a whole, or that no end of the buffer cuts.
        let rows = program.buffers[buffer].shape.last().copied();
        let rows = rows.map(|e| Ok(self.resolve_in(e, View::ALL)?.0)).transpose()?;
        let holds = |group: u32| {
            let by = i64::from(group);
            let along = |t: &&Term| unknowns.iter().any(|unknown| runs(t, unknown, group));
            // Of two axes that count elements, each begins anywhere in the other's groups.
            let mut others = sum.terms.iter().filter(|t| !along(t));
            let whole =
                all_read && sum.terms.iter().filter(along).count() == 1 && others.all(|t| t.by % by == 0) && sum.constant % by == 0;
            sum.terms.iter().any(|t| along(&t)) && (whole || rows.is_some_and(|rows| self.values.is_multiple(rows, by)))
        };
        let group = [4, 2].into_iter().find(|group| holds(*group)).unwrap_or(1);
        Ok(match self.program.buffers[buffer].space {
            Space::Shared if self.shared_group(buffer) != group => 1,
            _ => group,
        })
    }

    /// Whether no loop around may run in some unrolled iterations and be empty in others, which then read nothing.
    fn loops_run_alike(&mut self, unknowns: &[(ValueId, u32)]) -> Result<bool> {
        for axis in self.serial.clone() {
            let extent = self.extent_in(axis, View::ALL)?;
            let differs = unknowns.iter().any(|(unknown, _)| self.values.depends(extent, *unknown));
            if differs && self.values.node(extent).range.0 < 1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `count` elements from a row-major index on, which `count` divides.
    fn fetch(&mut self, buffer: BufferId, flat: ValueId, count: u32) -> Result<ValueId> {
        let dtype = self.program.buffers[buffer].dtype;
        let index = self.values.divided(flat, count.into());
        if self.is_constant(buffer) {
            return Ok(self.pure_load(buffer, index, count, dtype));
        }
        if let Some(known) = self.recent.get(&buffer).and_then(|r| r.get(&(count, index))) {
            return Ok(*known);
        }
        let level = self.level();
        let chunks = self.load_at(buffer, index, count, dtype, level)?;
        let value = self.values.moment(dtype, count, level);
        self.read_class(buffer, value);
        self.define(value, chunks);
        self.recent.get_or_insert_with(buffer, Map::default).insert((count, index), value);
        Ok(value)
    }

    /// A load of what does not change: written where its index is known, but not above what may not run.
    fn pure_load(&mut self, buffer: BufferId, index: ValueId, count: u32, dtype: DType) -> ValueId {
        let least = self.values.node(index).level as usize;
        let floor = self.regions.iter().rposition(|r| r.skippable).unwrap_or(0);
        // The same load may be there already, further out.
        for region in &self.regions[..floor] {
            let load = Load { buffer, count, index, region: region.instance };
            if let Some(known) = self.values.find(&Kind::Load(load), dtype) {
                return known;
            }
        }
        let load = Load { buffer, count, index, region: self.regions[floor].instance };
        self.values.add(Kind::Load(load), dtype, count, least.max(floor) as u32, REACH)
    }

    /// Writes a load.
    pub(crate) fn load_at(&mut self, buffer: BufferId, index: ValueId, count: u32, dtype: DType, level: u32) -> Result<Chunks> {
        let place = self.place(buffer, index, count, level)?;
        let mut operands: SmallVec<[u32; 3]> = SmallVec::from_slice(&[place.pointer]);
        if let Some(bytes) = place.aligned {
            operands.extend([MemoryAccess::ALIGNED.bits(), bytes]);
        }
        let loaded = self.ins(level, Op::Load, place.of, &operands);
        self.after_load(loaded, dtype, count, level, self.program.buffers[buffer].space.is_global())
    }

    /// What was loaded, as it is computed with.
    pub(crate) fn after_load(&mut self, loaded: Id, dtype: DType, count: u32, level: u32, global: bool) -> Result<Chunks> {
        Ok(match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                let (pair, four) = (self.vector_of(word, 2), self.vector_type(dtype, 4)?);
                let half = |e: &mut Self, at: u32| {
                    let words = e.ins(level, Op::VectorShuffle, pair, &[loaded, loaded, at, at + 1]);
                    e.ins(level, Op::Bitcast, four, &[words])
                };
                Chunks::two(half(self, 0), half(self, 2))
            }
            DType::F16 if global && !self.native_f16() => {
                let ty = self.vector_type(DType::F32, count)?;
                Chunks::one(self.ins(level, Op::FConvert, ty, &[loaded]))
            }
            DType::Bool => {
                let zero = self.words(0, count);
                let ty = self.vector_type(DType::Bool, count)?;
                Chunks::one(self.ins(level, Op::INotEqual, ty, &[loaded, zero]))
            }
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::U32 | DType::I8 | DType::U8 => Chunks::one(loaded),
        })
    }

    /// The same 32-bit word in every component.
    fn words(&mut self, bits: u32, count: u32) -> Id {
        let word = self.module.uint(bits);
        if count == 1 {
            return word;
        }
        let of = self.module.u32_type();
        let ty = self.module.ty(Type::Vector(of, count));
        self.module.composite(ty, &vec![word; count as usize])
    }

    /// What is computed with, as it lies in memory.
    pub(crate) fn before_store(&mut self, chunks: &[Id], dtype: DType, count: u32, global: bool) -> Result<Id> {
        let level = self.level();
        Ok(match dtype {
            DType::F16 if count == 8 => {
                let word = self.module.u32_type();
                let (pair, four) = (self.vector_of(word, 2), self.vector_of(word, 4));
                let low = self.ins(level, Op::Bitcast, pair, &[chunks[0]]);
                let high = self.ins(level, Op::Bitcast, pair, &[chunks[1]]);
                self.ins(level, Op::VectorShuffle, four, &[low, high, 0, 1, 2, 3])
            }
            DType::F16 if global && !self.native_f16() => {
                let ty = self.memory_type(dtype, count)?;
                self.ins(level, Op::FConvert, ty, &[chunks[0]])
            }
            DType::Bool => {
                let (one, zero) = (self.words(1, count), self.words(0, count));
                let ty = self.memory_type(dtype, count)?;
                self.ins(level, Op::Select, ty, &[chunks[0], one, zero])
            }
            DType::F32 | DType::F16 | DType::BF16 | DType::I32 | DType::U32 | DType::I8 | DType::U8 => chunks[0],
        })
    }

    /// Writes a value to a place, where the predicates of the compute hold.
    pub(crate) fn store(&mut self, to: &Access, value: ValueId) -> Result<()> {
        match self.program.buffers[to.buffer].space {
            Space::Register => self.write_register(to.buffer, &to.index, value),
            Space::Fragment { .. } => Err(self.no_fragments()),
            _ => self.store_memory(to, value),
        }
    }

    fn store_memory(&mut self, to: &Access, value: ValueId) -> Result<()> {
        let flat = self.place_in(to.buffer, &to.index, View::ALL)?.0;
        let guard = self.in_range(View::ALL)?;
        let lanes = self.lanes.map_or(1, |(_, n)| n);
        let target = match self.values.by_lane(flat) {
            _ if self.values.width(guard) > 1 => Target::Scattered,
            ByLane::Uniform if self.values.width(value) == 1 => Target::Wide(flat, 1),
            ByLane::Linear { base, step: 1 } => match self.wide(to.buffer, base, lanes) {
                Some(count) => Target::Wide(base, count),
                None => Target::Scattered,
            },
            _ => Target::Scattered,
        };
        let mut stores = Stores::default();
        match target {
            Target::Wide(flat, 1) => self.prepare(&mut stores, to.buffer, flat, 1, value, 0)?,
            Target::Wide(base, count) => {
                let value = self.values.widen(value, lanes);
                for n in 0..lanes / count {
                    let offset = self.values.int((n * count).into());
                    let at = self.values.plus(base, offset);
                    self.prepare(&mut stores, to.buffer, at, count, value, n)?;
                }
            }
            Target::Scattered => return self.store_lanes(to, value, lanes),
        }
        self.write(to.buffer, guard, stores)
    }

    fn store_lanes(&mut self, to: &Access, value: ValueId, lanes: u32) -> Result<()> {
        for lane in 0..lanes {
            let one = self.values.extract(value, lane);
            self.store_lane(to, one, View::ALL.lane(lane))?;
        }
        Ok(())
    }

    /// Stores one lane's value.
    pub(crate) fn store_one(&mut self, to: &Access, value: ValueId, view: View) -> Result<()> {
        match self.program.buffers[to.buffer].space {
            Space::Register => self.write_register_lane(to.buffer, &to.index, value, view),
            _ => self.store_lane(to, value, view),
        }
    }

    /// One lane's value of an accumulator.
    pub(crate) fn load_one(&mut self, from: &Access, view: View) -> Result<ValueId> {
        if self.program.buffers[from.buffer].space == Space::Register {
            return self.read_register(from.buffer, &from.index, view);
        }
        let flat = self.place_in(from.buffer, &from.index, view)?.0;
        self.fetch(from.buffer, flat, 1)
    }

    /// Stores one lane's value to device or shared memory.
    pub(crate) fn store_lane(&mut self, to: &Access, value: ValueId, view: View) -> Result<()> {
        let (flat, guard) = (self.place_in(to.buffer, &to.index, view)?.0, self.in_range(view)?);
        let mut stores = Stores::default();
        self.prepare(&mut stores, to.buffer, flat, 1, value, 0)?;
        self.write(to.buffer, guard, stores)
    }

    /// Computes what a store needs: pointer and value.
    fn prepare(&mut self, to: &mut Stores, buffer: BufferId, flat: ValueId, count: u32, value: ValueId, n: u32) -> Result<()> {
        self.note_class(buffer, value);
        let b = &self.program.buffers[buffer];
        let chunks = self.value(value)?;
        let each = chunks.len().min((count as usize).div_ceil(4));
        let first = n as usize * each;
        let stored = self.before_store(&chunks[first..first + each], b.dtype, count, b.space.is_global())?;
        let index = self.values.divided(flat, count.into());
        let level = self.level();
        let place = self.place(buffer, index, count, level)?;
        to.0.push((place.pointer, stored, place.aligned));
        Ok(())
    }

    /// Stores, under a condition.
    fn write(&mut self, buffer: BufferId, guard: ValueId, stores: Stores) -> Result<()> {
        let guard = match self.values.as_bool(guard) {
            Some(true) => None,
            Some(false) => return Ok(()),
            None => Some(self.scalar(guard)?),
        };
        let merge = guard.map(|cond| {
            let (then, merge) = (self.module.id(), self.module.id());
            self.branches += 1;
            let code = self.here();
            code.op(Op::SelectionMerge, &[merge, SelectionControl::NONE.bits()]);
            code.op(Op::BranchConditional, &[cond, then, merge]);
            code.op(Op::Label, &[then]);
            merge
        });
        for (pointer, value, aligned) in stores.0 {
            let mut operands: SmallVec<[u32; 4]> = SmallVec::from_slice(&[pointer, value]);
            if let Some(bytes) = aligned {
                operands.extend([MemoryAccess::ALIGNED.bits(), bytes]);
            }
            self.here().op(Op::Store, &operands);
        }
        if let Some(merge) = merge {
            self.here().op(Op::Branch, &[merge]);
            self.here().op(Op::Label, &[merge]);
        }
        self.forget_recent(buffer);
        Ok(())
    }

    /// Forgets what was read from a buffer.
    pub(crate) fn forget_recent(&mut self, buffer: BufferId) {
        if let Some(recent) = self.recent.get_mut(&buffer) {
            recent.clear();
        }
    }

    /// The value at a place that is read and written.
    pub(crate) fn load_state(&mut self, from: &Access) -> Result<ValueId> {
        if self.program.buffers[from.buffer].space == Space::Register {
            return self.read_register(from.buffer, &from.index, View::ALL);
        }
        let flat = self.place_in(from.buffer, &from.index, View::ALL)?.0;
        let state = match self.values.by_lane(flat) {
            ByLane::Uniform => Some(self.fetch(from.buffer, flat, 1)?),
            ByLane::Linear { base, step: 1 } => self.state_row(from.buffer, base)?,
            _ => None,
        };
        if let Some(state) = state {
            return Ok(state);
        }
        let lanes = self.lanes.map_or(1, |(_, n)| n);
        let parts: Result<Operands> = (0..lanes)
            .map(|l| {
                let view = View::ALL.lane(l);
                let flat = self.place_in(from.buffer, &from.index, view)?.0;
                self.fetch(from.buffer, flat, 1)
            })
            .collect();
        Ok(self.values.op(ValueOp::Join, parts?))
    }

    fn state_row(&mut self, buffer: BufferId, base: ValueId) -> Result<Option<ValueId>> {
        let lanes = self.lanes.map_or(1, |(_, n)| n);
        let Some(count) = self.wide(buffer, base, lanes) else { return Ok(None) };
        let parts: Result<Operands> = (0..lanes / count)
            .map(|n| {
                let offset = self.values.int((n * count).into());
                let at = self.values.plus(base, offset);
                self.fetch(buffer, at, count)
            })
            .collect();
        let parts = parts?;
        Ok(Some(if parts.len() == 1 { parts[0] } else { self.values.op(ValueOp::Join, parts) }))
    }
}

/// Pointers, values and alignments.
#[derive(Default)]
struct Stores(SmallVec<[(Id, Id, Option<u32>); 2]>);
