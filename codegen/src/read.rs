//! Reads: the number of elements that are read at a time, values out of bounds, and reads that can be reused.
//!
//! A read of memory that the dispatch does not write is a value like others, and is emitted when it is used. Reads of written memory are
//! emitted at once, because the memory may change.

use crate::Result;
use crate::expr::{Mask, Resolved};
use crate::hash::Map;
use crate::narrow::numbers;
use crate::values::poly::{ByLane, Term};
use crate::values::{Kind, Load, Op, Operands, ValueId};
use crate::{BoundAxis, Resolver, View, Wanted};
use std::collections::BTreeSet;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Binary, Expr, ExprId, Outside, Read, Sides, Unary};
use tilewright_dsl::launch::{Bounds, DType, REACH};
use tilewright_dsl::nest::{Access, AxisId, BufferId, Space};

/// The facts known about reads.
#[derive(Default)]
pub(crate) struct Reads {
    /// The values that were read from written memory since it may last have changed.
    recent: Map<BufferId, Map<(u32, ValueId), ValueId>>,
    /// The known values of registers' variables.
    registers: Map<(BufferId, i64), ValueId>,
    /// For each read of a compute, the number of elements of neighbouring unrolled iterations to load at once.
    groups: Map<(usize, ExprId), u32>,
    changes: u64,
}

/// Memory that changes.
impl Resolver<'_> {
    /// Forgets the values that were read from memory, because any of it may have changed.
    pub fn forget_reads(&mut self) {
        self.reads.recent.clear();
        self.reads.changes += 1;
    }

    /// Returns the number of times that memory may have changed.
    pub fn changes(&self) -> u64 {
        self.reads.changes
    }

    /// Forgets the values that were read from a buffer.
    pub fn forget_reads_of(&mut self, buffer: BufferId) {
        if let Some(recent) = self.reads.recent.get_mut(&buffer) {
            recent.clear();
        }
        self.reads.changes += 1;
    }

    /// Records the value that a variable of a register buffer holds from now on.
    pub fn hold_register(&mut self, buffer: BufferId, at: i64, value: ValueId) {
        self.reads.registers.insert((buffer, at), value);
    }

    /// Returns the known value of a variable of a register buffer.
    pub fn held_register(&self, buffer: BufferId, at: i64) -> Option<ValueId> {
        self.reads.registers.get(&(buffer, at)).copied()
    }

    /// Forgets the values of all variables of register buffers.
    pub fn forget_registers(&mut self) {
        self.reads.registers.clear();
    }
}

impl Resolver<'_> {
    /// Returns the value of a read.
    pub(crate) fn read(&mut self, id: ExprId, read: &Read, view: View) -> Result<Resolved> {
        let program = self.program;
        let buffer = &program.buffers[read.buffer];
        if buffer.space == Space::Register {
            return Ok((self.registers_or_fill(read, view)?, 0));
        }
        let (flat, mask, inside) = self.kept_inside(read, view)?;
        let mut fetched = self.fetch_lanes(id, read.buffer, flat)?;
        if fetched.is_none() && read.outside == Outside::Never {
            fetched = self.fetch_near(read, view)?;
        }
        let Some(mut value) = fetched else {
            // Each lane reads for itself.
            let lanes = self.lane_count();
            let parts: Result<_> = (0..lanes).map(|l| Ok(self.resolve_in(id, view.lane(l))?.0)).collect();
            return Ok((self.values.op(Op::Join, parts?), mask));
        };
        if let Outside::Fill(fill, _) = &read.outside {
            let fill = self.resolve_in(*fill, view)?.0;
            value = self.values.select(inside, value, fill);
        }
        Ok((if view.unfilled { value } else { self.filled(value, mask, view)? }, mask))
    }

    /// Returns the row-major index of a read, the predicates that it depends on, and whether it is in bounds.
    fn kept_inside(&mut self, read: &Read, view: View) -> Result<(ValueId, Mask, ValueId)> {
        if read.outside == Outside::Never {
            let (flat, mask) = self.place_in(read.buffer, &read.index, view)?;
            return Ok((flat, mask, self.values.boolean(true)));
        }
        let (mut index, mut mask) = (Vec::with_capacity(read.index.len()), 0);
        for i in &read.index {
            let (value, m) = self.index_in(*i, view)?;
            index.push(value);
            mask |= m;
        }
        let inside = self.keep_inside(read, &mut index, view)?;
        Ok((self.flat(read.buffer, &index)?, mask, inside))
    }

    /// Clamps the indices of a read that may leave its buffer ([`CLAMPED_INSIDE`](tilewright_dsl::expr::rules::CLAMPED_INSIDE),
    /// [`CLAMPED_SAME`](tilewright_dsl::expr::rules::CLAMPED_SAME)). Returns whether the read is in bounds.
    pub(crate) fn keep_inside(&mut self, read: &Read, index: &mut [ValueId], view: View) -> Result<ValueId> {
        let mut inside = self.values.boolean(true);
        let (sides, whole): (&Sides, bool) = match &read.outside {
            Outside::Never => return Ok(inside),
            Outside::Clamp(sides) => (sides, false),
            Outside::Fill(_, sides) => (sides, true),
        };
        let program = self.program;
        let shape = &program.buffers[read.buffer].shape;
        let versions = index.len().saturating_sub(shape.len());
        for (dim, (low, high)) in sides.iter().enumerate() {
            let Some(at) = index.get_mut(versions + dim).map(|v| *v) else { continue };
            let (zero, extent) = (self.values.int(0), self.resolve_in(shape[dim], view)?.0);
            // If each vector is entirely in or out of bounds, the number of the vector is tested and clamped, so that vectors stay whole.
            // This is possible only if elements out of bounds are filled. A clamped read needs the nearest element of each lane.
            let (at, extent, width) = if whole { self.vectors(at, extent) } else { (at, extent, 1) };
            let mut clamped = at;
            if *low {
                let below = self.values.less(at, zero);
                let above = self.negated(below);
                inside = self.values.and(inside, above);
            }
            if *high {
                let below = self.values.less(at, extent);
                inside = self.values.and(inside, below);
                let one = self.values.int(1);
                let last = self.values.minus(extent, one);
                // An empty dimension does not have a last element, so the index becomes 0.
                let last = self.values.extreme(Binary::Max, last, zero);
                clamped = self.values.extreme(Binary::Min, clamped, last);
            }
            if *low {
                clamped = self.values.extreme(Binary::Max, clamped, zero);
            }
            if width > 1 {
                let (first, lane) = (self.values.scaled(clamped, width.into()), self.values.lane(width));
                clamped = self.values.plus(first, lane);
            }
            index[versions + dim] = clamped;
        }
        Ok(inside)
    }

    fn negated(&mut self, cond: ValueId) -> ValueId {
        match self.values.as_bool(cond) {
            Some(known) => self.values.boolean(!known),
            None => self.values.apply(Op::Unary(Unary::Not), &[cond]),
        }
    }

    /// Returns the value of a read at a row-major index, over all lanes. `None`: each lane must read for itself.
    fn fetch_lanes(&mut self, id: ExprId, buffer: BufferId, flat: ValueId) -> Result<Option<ValueId>> {
        match self.values.by_lane(flat) {
            ByLane::Uniform => self.fetch_grouped(id, buffer, flat).map(Some),
            ByLane::Linear { base, step: 1 } => Ok(self.row(buffer, base, self.values.width(flat))),
            _ => Ok(None),
        }
    }

    /// Returns the value of a read whose lanes are at known distances, if together they read consecutive elements, from one access. For
    /// example, `b[k / 2]` over eight lanes of `k` is an access to four elements. `None`: each lane must read for itself.
    fn fetch_near(&mut self, read: &Read, view: View) -> Result<Option<ValueId>> {
        let flats: Result<Vec<ValueId>> = (0..self.lane_count()).map(|l| Ok(self.kept_inside(read, view.lane(l))?.0)).collect();
        let flats = flats?;
        let mut distances = Vec::with_capacity(flats.len());
        for flat in &flats {
            let distance = self.values.minus(*flat, flats[0]);
            let Some(distance) = self.values.as_int(distance) else { return Ok(None) };
            distances.push(distance);
        }
        let elements: BTreeSet<i64> = distances.iter().copied().collect();
        let (Some(first), Some(last), count) = (elements.first(), elements.last(), elements.len() as u32) else { return Ok(None) };
        let offset = self.values.int(*first);
        let base = self.values.plus(flats[0], offset);
        let are_whole = last - first + 1 == i64::from(count) && count.is_power_of_two();
        if count == 1 || !are_whole || self.wide(read.buffer, base, count) != Some(count) {
            return Ok(None);
        }
        let near = self.fetch(read.buffer, base, count);
        let lanes = distances.iter().map(|at| self.values.extract(near, (at - first) as u32)).collect();
        Ok(Some(self.values.op(Op::Join, lanes)))
    }

    /// Returns consecutive elements, by lane. `None`: they must be accessed one by one.
    fn row(&mut self, buffer: BufferId, base: ValueId, width: u32) -> Option<ValueId> {
        let count = self.wide(buffer, base, width)?;
        let each = (0..width / count).map(|n| {
            let offset = self.values.int((n * count).into());
            let at = self.values.plus(base, offset);
            self.fetch(buffer, at, count)
        });
        let parts: Operands = each.collect();
        Some(if parts.len() == 1 { parts[0] } else { self.values.op(Op::Join, parts) })
    }

    /// Returns the number of elements that each access to `width` consecutive elements can cover, or `None` if it is a single one.
    pub fn wide(&self, buffer: BufferId, base: ValueId, width: u32) -> Option<u32> {
        let b = &self.program.buffers[buffer];
        let at_once = match b.space {
            Space::Constant(_) => return None,
            Space::Shared => {
                let group = self.uses.shared_group(buffer);
                (group > 1 && group == width.min(4)).then_some(group)?
            }
            // Elements of less than 32 bits are also accessed as the words of 16 bytes.
            _ => {
                let is_packed = b.dtype.is_narrow() || b.dtype == DType::F16 && self.native_f16();
                let most = if is_packed { 16 / b.dtype.bytes() } else { 4 };
                let fits = |count: &u32| *count <= width && self.values.is_multiple(base, (*count).into());
                return [16, 8].into_iter().filter(|count| *count <= most).find(fits).or(Some(width.min(4).min(most)).filter(fits));
            }
        };
        self.values.is_multiple(base, at_once.into()).then_some(at_once)
    }

    /// Returns one element. It is loaded together with its neighbours if unrolled iterations read those. The first of them is at
    /// [`GROUP_START`](tilewright_dsl::expr::rules::GROUP_START).
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
            let vector = self.fetch(buffer, base, group);
            return Ok(self.values.extract(vector, offset as u32));
        }
        Ok(self.fetch(buffer, flat, 1))
    }

    /// Returns the number of elements that a read of the current compute should load at once. It is 4 or 2 if an unrolled axis runs over at
    /// least as many consecutive elements, otherwise 1.
    fn group_of(&mut self, id: ExprId, buffer: BufferId) -> Result<u32> {
        if self.unrolled.is_empty() {
            return Ok(1);
        }
        let key = (self.compute, id);
        if let Some(known) = self.reads.groups.get(&key) {
            return Ok(*known);
        }
        self.reads.groups.insert(key, 1);
        let group = match self.program.buffers[buffer].space {
            Space::Constant(_) => 1,
            // Another invocation may have written the other elements of the group in the meantime.
            ref space if space.is_global() && self.uses.coherent && !self.is_constant(buffer) => 1,
            Space::Shared if self.uses.shared_group(buffer) == 1 => 1,
            _ => self.consecutive(id, buffer)?,
        };
        self.reads.groups.insert(key, group);
        Ok(group)
    }

    /// Returns the number of consecutive elements that an unrolled axis runs over, found by resolving the read with the unrolled axes as
    /// unknowns.
    fn consecutive(&mut self, id: ExprId, buffer: BufferId) -> Result<u32> {
        let program = self.program;
        let Expr::Read(read) = program.exprs.get(id) else { return Ok(1) };
        let unrolled = self.unrolled.clone();
        let is_unrolled = &mut |axis| unrolled.iter().any(|(a, _)| program.is_made_of(axis, *a));
        // If an index itself reads at an unknown index, it can be resolved only if it reads a table.
        let mut is_of_unknown = |e: &Expr| match e {
            Expr::Read(r) => !self.is_constant(r.buffer) && r.index.iter().any(|i| program.exprs.uses_axis(*i, is_unrolled)),
            _ => false,
        };
        if read.index.iter().any(|i| program.exprs.any(*i, &mut is_of_unknown)) {
            return Ok(1);
        }
        if self.runs_otherwise(&read.index, is_unrolled) {
            return Ok(1);
        }
        let mut unknowns = Vec::new();
        let before = self.bound.clone();
        let resolved = std::mem::take(&mut self.resolved);
        for (axis, extent) in &unrolled {
            let unknown = self.values.unknown(Bounds(0, i64::from(*extent) - 1), 0);
            unknowns.push((unknown, *extent));
            self.bound[axis.index()] = Some(BoundAxis { value: unknown, owner: false });
        }
        let index: Result<Vec<ValueId>> = read.index.iter().map(|i| Ok(self.resolve_in(*i, View::ALL)?.0)).collect();
        // Neighbours that may be out of bounds are not loaded together, although each of them would be clamped.
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
        // A group must be read as a whole, or no end of the buffer may cut it.
        let rows = program.buffers[buffer].shape.last().copied();
        let rows = rows.map(|e| Ok(self.resolve_in(e, View::ALL)?.0)).transpose()?;
        let b = &program.buffers[buffer];
        let most = if b.space.is_global() { 16 / b.dtype.bytes() } else { 4 };
        // The extent of the loop over elements that a term counts.
        let run = |t: &Term| unknowns.iter().find(|(unknown, _)| t.factors.as_slice() == [*unknown]).map(|(_, extent)| *extent);
        let holds = |group: u32| {
            let by = i64::from(group);
            let is_even = |extent: u32| extent.is_multiple_of(group);
            // An element of a word takes as long as the word, so the last group may be longer than the run.
            let is_word = b.space.is_global() && group * b.dtype.bytes() <= 4;
            let is_long = |extent: u32| is_even(extent) || is_word && extent > group;
            let (along, others): (Vec<_>, Vec<_>) = sum.terms.iter().partition(|t| t.by == 1 && run(t).is_some_and(is_long));
            // If two axes run over elements, each of them may begin anywhere in the other's groups.
            let is_whole = all_read
                && along.len() == 1
                && run(along[0]).is_some_and(is_even)
                && others.iter().all(|t| t.by % by == 0)
                && sum.constant % by == 0;
            !along.is_empty() && (is_whole || rows.is_some_and(|rows| self.values.is_multiple(rows, by)))
        };
        let group = [4, 2].into_iter().find(|group| *group <= most && holds(*group)).unwrap_or(1);
        Ok(match self.program.buffers[buffer].space {
            Space::Shared if self.uses.shared_group(buffer) != group => 1,
            _ => group,
        })
    }

    /// True if indices name a loop whose end depends on an unrolled axis. Such a loop may have a single value in one iteration and several
    /// in the next, so that facts about one iteration do not hold in the next.
    fn runs_otherwise(&self, index: &[ExprId], is_unrolled: &mut dyn FnMut(AxisId) -> bool) -> bool {
        let program = self.program;
        let mut ends_there = Vec::new();
        for (axis, of) in program.axes.iter() {
            if !is_unrolled(axis) && program.exprs.uses_axis(of.extent, is_unrolled) {
                ends_there.push(axis);
            }
        }
        let named = &mut |axis| ends_there.iter().any(|end| program.is_made_of(axis, *end));
        index.iter().any(|i| program.exprs.uses_axis(*i, named))
    }

    /// True if no enclosing serial loop can run in some unrolled iterations and be empty in others, which then read nothing.
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

    /// Reads `count` elements from a row-major index on, which must be a multiple of `count`.
    fn fetch(&mut self, buffer: BufferId, flat: ValueId, count: u32) -> ValueId {
        let dtype = self.program.buffers[buffer].dtype;
        let index = self.values.divided(flat, count.into());
        if self.is_constant(buffer) {
            return self.pure_load(buffer, index, count, dtype);
        }
        if let Some(known) = self.reads.recent.get(&buffer).and_then(|r| r.get(&(count, index))) {
            return *known;
        }
        let level = self.level();
        let value = self.values.moment(dtype, count, level);
        self.wanted.push(Wanted::Load { value, buffer, index });
        self.reads.recent.get_or_insert_with(buffer, Map::default).insert((count, index), value);
        value
    }

    /// Loads from memory that does not change. The load is emitted in the outermost region that knows its index, but not outside of a
    /// region that may be skipped.
    fn pure_load(&mut self, buffer: BufferId, index: ValueId, count: u32, dtype: DType) -> ValueId {
        let least = self.values.node(index).level as usize;
        let floor = self.regions.iter().rposition(|r| r.skippable).unwrap_or(0);
        // The same load may exist already in an outer region.
        for region in &self.regions[..floor] {
            let load = Load { buffer, count, index, region: region.instance };
            if let Some(known) = self.values.find(&Kind::Load(load), dtype.computed()) {
                return known;
            }
        }
        let load = Load { buffer, count, index, region: self.regions[floor].instance };
        let range = self.element_range(buffer, dtype);
        self.values.add(Kind::Load(load), dtype.computed(), count, least.max(floor) as u32, range)
    }

    /// Returns the range of a buffer's elements. The elements of a table are literals. A table of `u32` has a range if all its elements
    /// have the same value in `i32`.
    fn element_range(&self, buffer: BufferId, dtype: DType) -> Bounds {
        let Space::Constant(data) = &self.program.buffers[buffer].space else { return numbers(dtype) };
        let literals = data.iter().map(|element| Bounds::of(element.value() as i64));
        literals.reduce(Bounds::either).filter(|range| dtype.is_int() && range.is_within(REACH)).unwrap_or(REACH)
    }

    /// Returns one lane's value of an accumulator.
    pub fn load_one(&mut self, from: &Access, view: View) -> Result<ValueId> {
        if self.program.buffers[from.buffer].space == Space::Register {
            return self.read_register(from.buffer, &from.index, view);
        }
        let flat = self.place_in(from.buffer, &from.index, view)?.0;
        Ok(self.fetch(from.buffer, flat, 1))
    }

    /// Returns the value at a place that is read and written.
    pub fn load_state(&mut self, from: &Access) -> Result<ValueId> {
        if self.program.buffers[from.buffer].space == Space::Register {
            return self.read_register(from.buffer, &from.index, View::ALL);
        }
        let flat = self.place_in(from.buffer, &from.index, View::ALL)?.0;
        let state = match self.values.by_lane(flat) {
            ByLane::Uniform => Some(self.fetch(from.buffer, flat, 1)),
            ByLane::Linear { base, step: 1 } => self.row(from.buffer, base, self.lane_count()),
            _ => None,
        };
        if let Some(state) = state {
            return Ok(state);
        }
        let lanes = self.lane_count();
        let parts: Result<Operands> = (0..lanes)
            .map(|l| {
                let view = View::ALL.lane(l);
                let flat = self.place_in(from.buffer, &from.index, view)?.0;
                Ok(self.fetch(from.buffer, flat, 1))
            })
            .collect();
        Ok(self.values.op(Op::Join, parts?))
    }
}
