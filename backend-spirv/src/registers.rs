//! Registers: every element of a register buffer that is used is a variable of the function, or a component of one.
//!
//! A buffer whose rows are reached in lanes has vectors of up to four elements for variables. An index must be a
//! literal here: a register file cannot be indexed at run time. What runs past the end of an axis reads the nearest element of a
//! dimension, the first one where it is counted backwards, and writes none.

use crate::chunks::Chunks;
use crate::emit::{Emit, Result};
use crate::hash::Map;
use crate::module::Id;
use crate::resolve::View;
use crate::values::poly::ByLane;
use crate::values::{Op as ValueOp, ValueId};
use rspirv::spirv::Op;
use smallvec::SmallVec;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::ExprId;
use tilewright_dsl::launch::Bounds;
use tilewright_dsl::nest::BufferId;

/// A register's index, dimension by dimension.
type Index = SmallVec<[ValueId; 4]>;

/// The registers of a dispatch.
#[derive(Default)]
pub(crate) struct Registers {
    /// Elements of a variable, where it is more than 1.
    pub(crate) group: Map<BufferId, u32>,
    variables: Map<(BufferId, i64), Id>,
    /// What a variable holds, as far as it is known.
    current: Map<(BufferId, i64), ValueId>,
    /// The variables that are behind that, in order and by name.
    waiting: Vec<(BufferId, i64)>,
    waits: Map<(BufferId, i64), ()>,
}

/// Elements of a register buffer.
#[derive(Clone, Copy)]
enum Elements {
    One(i64),
    /// Consecutive ones, by lane.
    Row(i64),
    /// This one and every so many, by lane.
    Strided(i64, i64),
}

/// An index that leaves its buffer.
struct Past {
    index: Index,
    /// In which lanes.
    beyond: SmallVec<[bool; 16]>,
}

impl Elements {
    fn lane(self, lane: u32) -> i64 {
        match self {
            Elements::One(at) => at,
            Elements::Row(at) => at + i64::from(lane),
            Elements::Strided(at, step) => at + step * i64::from(lane),
        }
    }
}

impl Emit<'_> {
    /// The value of registers.
    pub(crate) fn read_register(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<ValueId> {
        if let Some(past) = self.past_end(buffer, index, view)? {
            return self.read_nearest(buffer, &past);
        }
        let at = self.elements(buffer, index, view)?;
        if let Elements::One(at) = at {
            return self.read_one(buffer, at);
        }
        let lanes = self.lanes.map_or(1, |(_, n)| n);
        let group = self.group(buffer);
        if let Elements::Row(first) = at
            && self.fits(first, lanes, group)
        {
            let parts = (0..lanes / group).map(|n| self.read_variable(buffer, first / i64::from(group) + i64::from(n)));
            let parts: Result<crate::values::Operands> = parts.collect();
            let parts = parts?;
            return Ok(if parts.len() == 1 { parts[0] } else { self.values.op(ValueOp::Join, parts) });
        }
        let parts: Result<_> = (0..lanes).map(|l| self.read_one(buffer, at.lane(l))).collect();
        Ok(self.values.op(ValueOp::Join, parts?))
    }

    /// Writes registers.
    pub(crate) fn write_register(&mut self, buffer: BufferId, index: &[ExprId], value: ValueId) -> Result<()> {
        let at = self.elements(buffer, index, View::ALL)?;
        let lanes = self.lanes.map_or(1, |(_, n)| n);
        let group = self.group(buffer);
        if let Some(past) = self.past_end(buffer, index, View::ALL)? {
            for lane in (0..lanes).filter(|lane| !past.beyond[*lane as usize]) {
                let one = self.values.extract(value, lane);
                self.write_one(buffer, at.lane(lane), one)?;
            }
            return Ok(());
        }
        match at {
            Elements::One(at) if self.values.width(value) == 1 => self.write_one(buffer, at, value),
            Elements::One(_) => Err(self.defect("lanes are written to one register")),
            Elements::Row(first) if self.fits(first, lanes, group) => {
                let value = self.values.widen(value, lanes);
                for n in 0..lanes / group {
                    let part = self.values.part(value, n);
                    self.write_variable(buffer, first / i64::from(group) + i64::from(n), part)?;
                }
                Ok(())
            }
            _ => (0..lanes).try_for_each(|l| {
                let one = self.values.extract(value, l);
                self.write_one(buffer, at.lane(l), one)
            }),
        }
    }

    /// Writes one lane's register.
    pub(crate) fn write_register_lane(&mut self, buffer: BufferId, index: &[ExprId], value: ValueId, view: View) -> Result<()> {
        let past = self.past_end(buffer, index, view)?;
        match (self.elements(buffer, index, view)?, view.lane) {
            (_, lane) if past.is_some_and(|past| past.beyond[lane.unwrap_or(0) as usize]) => Ok(()),
            (Elements::One(at), _) => self.write_one(buffer, at, value),
            (at, Some(lane)) => self.write_one(buffer, at.lane(lane), value),
            (_, None) => Err(self.defect("all lanes are written as one")),
        }
    }

    /// Whether lanes from an element on are whole variables.
    fn fits(&self, first: i64, lanes: u32, group: u32) -> bool {
        group == lanes.min(4) && first % i64::from(group) == 0
    }

    fn group(&self, buffer: BufferId) -> u32 {
        self.registers.group.get(&buffer).copied().unwrap_or(1)
    }

    fn read_one(&mut self, buffer: BufferId, at: i64) -> Result<ValueId> {
        let group = i64::from(self.group(buffer));
        let variable = self.read_variable(buffer, at.div_euclid(group))?;
        Ok(self.values.extract(variable, at.rem_euclid(group) as u32))
    }

    fn read_variable(&mut self, buffer: BufferId, at: i64) -> Result<ValueId> {
        if let Some(value) = self.registers.current.get(&(buffer, at)) {
            return Ok(*value);
        }
        let (dtype, group, level) = (self.program.buffers[buffer].dtype, self.group(buffer), self.level());
        let variable = self.register(buffer, at)?;
        let ty = self.vector_type(dtype, group)?;
        let id = self.ins(level, Op::Load, ty, &[variable]);
        let value = self.values.moment(dtype, group, level);
        self.read_class(buffer, value);
        self.define(value, Chunks::one(id));
        self.registers.current.insert((buffer, at), value);
        Ok(value)
    }

    fn write_one(&mut self, buffer: BufferId, at: i64, value: ValueId) -> Result<()> {
        let group = i64::from(self.group(buffer));
        let (whole, component) = (at.div_euclid(group), at.rem_euclid(group));
        if group == 1 {
            return self.write_variable(buffer, whole, value);
        }
        // One component of several: the others are what they were, or nothing yet.
        if !self.registers.variables.contains_key(&(buffer, whole)) {
            self.declare(buffer, whole, true)?;
        }
        let vector = self.read_variable(buffer, whole)?;
        let parts = (0..group).map(|n| if n == component { value } else { self.values.extract(vector, n as u32) }).collect();
        let vector = self.values.op(ValueOp::Join, parts);
        self.write_variable(buffer, whole, vector)
    }

    /// Notes what a variable holds from now on. It is stored when a loop or branch begins or ends: within straight
    /// code the last value is all that counts.
    fn write_variable(&mut self, buffer: BufferId, at: i64, value: ValueId) -> Result<()> {
        // Computed here, so that long chains of updates are not computed in one piece later.
        self.value(value)?;
        self.note_class(buffer, value);
        self.register(buffer, at)?;
        let key = (buffer, at);
        self.registers.current.insert(key, value);
        if self.registers.waits.insert(key, ()) {
            self.registers.waiting.push(key);
        }
        Ok(())
    }

    /// Stores what waits, and forgets what variables hold.
    pub(crate) fn flush_registers(&mut self) -> Result<()> {
        for (buffer, at) in std::mem::take(&mut self.registers.waiting) {
            if let Some(value) = self.registers.current.get(&(buffer, at)).copied() {
                let (variable, id) = (self.register(buffer, at)?, self.scalar(value)?);
                self.here().op(Op::Store, &[variable, id]);
            }
        }
        self.registers.waits.clear();
        self.registers.current.clear();
        Ok(())
    }

    fn register(&mut self, buffer: BufferId, at: i64) -> Result<Id> {
        if let Some(id) = self.registers.variables.get(&(buffer, at)) {
            return Ok(*id);
        }
        self.declare(buffer, at, false)
    }

    /// Declares a variable; `zeros`: it holds zeros at first.
    fn declare(&mut self, buffer: BufferId, at: i64, zeros: bool) -> Result<Id> {
        let (dtype, group) = (self.program.buffers[buffer].dtype, self.group(buffer));
        let ty = self.vector_type(dtype, group)?;
        let first = zeros.then(|| self.module.null(ty));
        let id = self.variable_with(ty, first);
        self.name_register(id, buffer, at * i64::from(group));
        self.registers.variables.insert((buffer, at), id);
        Ok(id)
    }

    /// A register has its buffer's name and the number of its first element there, unless it is the only one.
    fn name_register(&mut self, id: Id, buffer: BufferId, first: i64) {
        let b = &self.program.buffers[buffer];
        let is_one = b.versions <= 1 && b.shape.iter().all(|extent| self.program.exprs.as_int(*extent) == Some(1));
        match is_one {
            true => self.module.name(id, &b.name),
            false => self.module.name(id, &format!("{}[{first}]", b.name)),
        }
    }

    /// An index of which a lane at least is past an end of a dimension: its flat number would be that of another element.
    fn past_end(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Option<Past>> {
        // What has no predicates is within its extents.
        if self.preds.is_empty() {
            return Ok(None);
        }
        let view = view.of_register();
        let inside = |e: &mut Self| {
            let index = e.index(index, view)?;
            Ok(e.is_inside(buffer, &index))
        };
        if self.stays_inside(buffer, index, view, inside)? {
            return Ok(None);
        }
        let (index, lanes) = (self.index(index, view)?, self.lanes.map_or(1, |(_, n)| n));
        let beyond: SmallVec<[bool; 16]> = (0..lanes).map(|lane| self.is_beyond(buffer, &index, lane)).collect();
        Ok(beyond.contains(&true).then_some(Past { index, beyond }))
    }

    fn index(&mut self, index: &[ExprId], view: View) -> Result<Index> {
        index.iter().map(|i| Ok(self.resolve_in(*i, view)?.0)).collect()
    }

    /// Whether no lane is past an end of a dimension, whatever it is.
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

    /// A lane's index in a dimension, if it is known, and the last one that there is.
    fn index_and_last(&mut self, buffer: BufferId, index: &Index, dimension: usize, lane: u32) -> Option<(i64, i64)> {
        let shape = &self.program.buffers[buffer].shape;
        // A version comes first, and is taken modulo their number.
        let extent = *shape.get(dimension.checked_sub(index.len().checked_sub(shape.len())?)?)?;
        let last = self.program.exprs.as_int(extent)? - 1;
        let at = match self.values.by_lane(index[dimension]) {
            ByLane::Uniform => self.values.as_int(index[dimension])?,
            ByLane::Linear { base, step } => self.values.as_int(base)? + step * i64::from(lane),
            ByLane::Other => return None,
        };
        Some((at, last))
    }

    /// The elements of an index, lane by lane; past an end of a dimension, the nearest ones there.
    fn read_nearest(&mut self, buffer: BufferId, Past { index, beyond }: &Past) -> Result<ValueId> {
        let uniform = index.iter().all(|at| self.values.width(*at) == 1);
        let lanes = if uniform { 1 } else { beyond.len() as u32 };
        let mut parts = crate::values::Operands::new();
        for lane in 0..lanes {
            let mut nearest = index.clone();
            for (n, nearest) in nearest.iter_mut().enumerate() {
                if let Some((at, last)) = self.index_and_last(buffer, index, n, lane) {
                    *nearest = self.values.int(at.clamp(0, last.max(0)));
                }
            }
            let flat = self.flat(buffer, &nearest)?;
            let at = self.elements_at(buffer, flat)?.lane(lane);
            parts.push(self.read_one(buffer, at)?);
        }
        Ok(if parts.len() == 1 { parts[0] } else { self.values.op(ValueOp::Join, parts) })
    }

    /// Which elements an index names.
    fn elements(&mut self, buffer: BufferId, index: &[ExprId], view: View) -> Result<Elements> {
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

    fn indexed_at_run_time(&self, buffer: BufferId, flat: ValueId) -> tilewright_dsl::diag::Error {
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
            false => error.help(format!("unroll {}", tilewright_dsl::diag::list(axes))),
        }
    }
}
