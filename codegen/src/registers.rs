//! Registers: the registers that an index names, and the values that they hold.
//!
//! An index must be a literal here, because a register file cannot be indexed at run time. A read past the end of an axis returns the
//! nearest element of the dimension (the first one if the axis is counted backwards), and a write there is dropped.

use crate::Result;
use crate::values::poly::ByLane;
use crate::values::{Op, Operands, ValueId};
use crate::{Resolver, View, Wanted};
use smallvec::SmallVec;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::diag::{self, Error};
use tilewright_dsl::expr::{ExprId, Outside, Read};
use tilewright_dsl::launch::Bounds;
use tilewright_dsl::nest::BufferId;

/// The index of a register, dimension by dimension.
type Index = SmallVec<[ValueId; 4]>;

/// Elements of a register buffer.
#[derive(Clone, Copy)]
pub enum Elements {
    /// The same element in all lanes.
    One(i64),
    /// Consecutive elements, by lane.
    Row(i64),
    /// Elements at a fixed step, by lane: the first one and the step.
    Strided(i64, i64),
}

/// An index that is out of bounds.
pub struct Past {
    index: Index,
    /// For each lane, whether it is out of bounds.
    pub beyond: SmallVec<[bool; 16]>,
}

impl Elements {
    /// Returns a lane's element.
    pub fn lane(self, lane: u32) -> i64 {
        match self {
            Elements::One(at) => at,
            Elements::Row(at) => at + i64::from(lane),
            Elements::Strided(at, step) => at + step * i64::from(lane),
        }
    }
}

impl Resolver<'_> {
    /// Returns the value of a read of registers. Out of bounds, a clamped read returns the nearest element, and a padded read returns
    /// its fill.
    pub(crate) fn registers_or_fill(&mut self, read: &Read, view: View) -> Result<ValueId> {
        let value = self.read_register(read.buffer, &read.index, view)?;
        let Outside::Fill(fill, _) = &read.outside else { return Ok(value) };
        let Some(Past { index, beyond }) = self.past_end(read.buffer, &read.index, view)? else { return Ok(value) };
        let fill = self.resolve_in(*fill, view)?.0;
        if index.iter().all(|at| self.values.width(*at) == 1) {
            return Ok(fill);
        }
        let lanes = beyond.iter().zip(0..);
        let parts = lanes.map(|(beyond, lane)| self.values.extract(if *beyond { fill } else { value }, lane)).collect();
        Ok(self.values.op(Op::Join, parts))
    }

    /// Returns the value of registers.
    pub(crate) fn read_register(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<ValueId> {
        if let Some(past) = self.past_end(buffer, index, view)? {
            return self.read_nearest(buffer, &past);
        }
        let at = self.elements(buffer, index, view)?;
        if let Elements::One(at) = at {
            return Ok(self.read_one(buffer, at));
        }
        let lanes = self.lane_count();
        let group = self.uses.register_group(buffer);
        if let Elements::Row(first) = at
            && is_whole(first, lanes, group)
        {
            let parts = (0..lanes / group).map(|n| self.read_variable(buffer, first / i64::from(group) + i64::from(n)));
            let parts: Operands = parts.collect();
            return Ok(if parts.len() == 1 { parts[0] } else { self.values.op(Op::Join, parts) });
        }
        let parts = (0..lanes).map(|l| self.read_one(buffer, at.lane(l))).collect();
        Ok(self.values.op(Op::Join, parts))
    }

    fn read_one(&mut self, buffer: BufferId, at: i64) -> ValueId {
        let group = i64::from(self.uses.register_group(buffer));
        let variable = self.read_variable(buffer, at.div_euclid(group));
        self.values.extract(variable, at.rem_euclid(group) as u32)
    }

    /// Returns the value of a variable, which is read unless it is known.
    pub fn read_variable(&mut self, buffer: BufferId, at: i64) -> ValueId {
        if let Some(value) = self.held_register(buffer, at) {
            return value;
        }
        let (dtype, group, level) = (self.program.buffers[buffer].dtype, self.uses.register_group(buffer), self.level());
        let value = self.values.moment(dtype, group, level);
        self.wanted.push(Wanted::Register { value, buffer, at });
        self.hold_register(buffer, at, value);
        value
    }

    /// Returns an index if at least one lane is out of bounds in a dimension. Its flat number would then belong to another element.
    pub fn past_end(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Option<Past>> {
        let view = view.of_register();
        let inside = |r: &mut Self| {
            let index = r.index(index, view)?;
            Ok(r.is_inside(buffer, &index))
        };
        if self.stays_inside(buffer, index, view, inside)? {
            return Ok(None);
        }
        let (index, lanes) = (self.index(index, view)?, self.lane_count());
        let beyond: SmallVec<[bool; 16]> = (0..lanes).map(|lane| self.is_beyond(buffer, &index, lane)).collect();
        Ok(beyond.contains(&true).then_some(Past { index, beyond }))
    }

    fn index(&mut self, index: &[ExprId], view: View) -> Result<Index> {
        index.iter().map(|i| Ok(self.resolve_in(*i, view)?.0)).collect()
    }

    /// True if no lane can be out of bounds in any dimension.
    fn is_inside(&self, buffer: BufferId, index: &Index) -> bool {
        let shape = &self.program.buffers[buffer].shape;
        let versions = index.len().saturating_sub(shape.len());
        shape.iter().zip(&index[versions..]).all(|(extent, at)| {
            let extent = self.program.exprs.as_int(*extent);
            let Bounds(low, high) = self.values.node(*at).range;
            extent.is_none_or(|extent| low >= 0 && high < extent)
        })
    }

    fn is_beyond(&mut self, buffer: BufferId, index: &Index, lane: u32) -> bool {
        (0..index.len()).any(|n| self.index_and_last(buffer, index, n, lane).is_some_and(|(at, last)| at < 0 || at > last))
    }

    /// Returns a lane's index in a dimension, if it is known, and the last valid index.
    fn index_and_last(&mut self, buffer: BufferId, index: &Index, dimension: usize, lane: u32) -> Option<(i64, i64)> {
        let shape = &self.program.buffers[buffer].shape;
        // The version comes first. It needs no check, because it is taken modulo the number of versions.
        let extent = *shape.get(dimension.checked_sub(index.len().checked_sub(shape.len())?)?)?;
        let last = self.program.exprs.as_int(extent)? - 1;
        let at = match self.values.by_lane(index[dimension]) {
            ByLane::Uniform => self.values.as_int(index[dimension])?,
            ByLane::Linear { base, step } => self.values.as_int(base)? + step * i64::from(lane),
            ByLane::Other => return None,
        };
        Some((at, last))
    }

    /// Reads the elements of an index, lane by lane. If the index is out of bounds in a dimension, the nearest element is read.
    fn read_nearest(&mut self, buffer: BufferId, Past { index, beyond }: &Past) -> Result<ValueId> {
        let uniform = index.iter().all(|at| self.values.width(*at) == 1);
        let lanes = if uniform { 1 } else { beyond.len() as u32 };
        let mut parts = Operands::new();
        for lane in 0..lanes {
            let mut nearest = index.clone();
            for (n, nearest) in nearest.iter_mut().enumerate() {
                if let Some((at, last)) = self.index_and_last(buffer, index, n, lane) {
                    *nearest = self.values.int(at.clamp(0, last.max(0)));
                }
            }
            let flat = self.flat(buffer, &nearest)?;
            let at = self.elements_at(buffer, flat)?.lane(lane);
            parts.push(self.read_one(buffer, at));
        }
        Ok(if parts.len() == 1 { parts[0] } else { self.values.op(Op::Join, parts) })
    }

    /// Returns the elements that an index names.
    pub fn elements(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Elements> {
        let view = view.of_register();
        let flat = self.place_in(buffer, index, view)?.0;
        self.elements_at(buffer, flat)
    }

    fn elements_at(&mut self, buffer: BufferId, flat: ValueId) -> Result<Elements> {
        let by_lane = self.values.by_lane(flat);
        let known = match by_lane {
            ByLane::Uniform => self.values.as_int(flat).map(Elements::One),
            ByLane::Linear { base, step: 1 } => self.values.as_int(base).map(Elements::Row),
            ByLane::Linear { base, step } => self.values.as_int(base).map(|at| Elements::Strided(at, step)),
            ByLane::Other => None,
        };
        known.ok_or_else(|| self.indexed_at_run_time(buffer, flat))
    }

    fn indexed_at_run_time(&self, buffer: BufferId, flat: ValueId) -> Error {
        let name = &self.program.buffers[buffer].name;
        let error = self.error(format!("the register tile `{name}` is indexed at run time"));
        let axes: Vec<&str> = self
            .program
            .axes
            .ids()
            .filter(|a| self.bound[a.index()].is_some_and(|b| !b.owner && self.values.depends(flat, b.value)))
            .map(|a| self.program.axes[a].name.as_str())
            .collect();
        match axes.is_empty() {
            true => error.help("its indices must be literals once loops are unrolled"),
            false => error.help(format!("unroll {}", diag::list(axes))),
        }
    }
}

/// True if lanes from an element on cover whole variables of a group of elements.
pub fn is_whole(first: i64, lanes: u32, group: u32) -> bool {
    group == lanes.min(4) && first % i64::from(group) == 0
}
