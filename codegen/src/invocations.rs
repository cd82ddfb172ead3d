//! The coordinates of an invocation: the values of axes bound to workgroups, subgroups, lanes and threads.

use crate::Result;
use crate::values::{Coordinate, Kind, ValueId};
use crate::{BoundAxis, Resolver, check_feature};
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::{Bounds, DType, Feature};
use tilewright_dsl::nest::{AxisId, Level, Slot};

/// The number of workgroups along a dimension that every device can dispatch at once.
const GRID: i64 = 65_535;

/// The axes of a dispatch that are bound to workgroups, subgroups, lanes or threads, anywhere in the nest.
#[derive(Default)]
pub struct Grid {
    /// Axes bound to workgroups, outermost first.
    pub(crate) workgroups: Vec<(AxisId, Slot)>,
    /// Axes bound to threads.
    pub(crate) threads: Vec<(AxisId, Slot)>,
    /// Axes bound to subgroups and lanes.
    pub(crate) subgroups: Vec<(AxisId, Level, Slot)>,
    /// The invocations of a workgroup.
    pub local: [u32; 3],
    /// The subgroup size, if threads are numbered by subgroup and lane. The workgroup is then dispatched as one row.
    pub row: Option<u32>,
    /// The subgroup size that the variant requires.
    pub subgroup: Option<u32>,
}

impl Resolver<'_> {
    /// Returns the value of a bound axis.
    pub fn coordinate_of(&mut self, axis: AxisId, level: Level, slot: Slot) -> Result<BoundAxis> {
        let (value, owner) = match level {
            Level::Workgroup => (self.workgroup(axis, slot)?, false),
            Level::Thread => (self.thread(slot), true),
            Level::Subgroup | Level::Lane => (self.of_subgroup(level, slot)?, true),
        };
        Ok(BoundAxis { value, owner })
    }

    /// Returns an axis's component of the workgroup number of its slot. The outermost axis of a slot is the slowest.
    fn workgroup(&mut self, axis: AxisId, slot: Slot) -> Result<ValueId> {
        self.begin(&[]);
        let dim = slot.index();
        let sharing: Vec<AxisId> = self.grid.workgroups.iter().filter(|(_, s)| s.index() == dim).map(|(axis, _)| *axis).collect();
        let extents: Vec<ValueId> = sharing.iter().map(|a| self.resolve(self.program.axes[*a].extent)).collect::<Result<_>>()?;
        let total = extents.iter().fold(Bounds::of(1), |n, e| n.times(self.values.node(*e).range));
        let which = if total.1 > GRID { Coordinate::GridWorkgroup(dim as u8) } else { Coordinate::Workgroup(dim as u8) };
        let mut value = self.coordinate_value(which, total.1);
        let Some(at) = sharing.iter().position(|a| *a == axis) else { return Ok(value) };
        let mut later = self.values.int(1);
        for extent in &extents[at + 1..] {
            later = self.values.times(later, *extent);
        }
        value = self.values.floor_div(value, later);
        let value = if at == 0 { value } else { self.values.floor_mod(value, extents[at]) };
        if !self.program.notes.down.contains(&axis) {
            return Ok(value);
        }
        let (one, zero) = (self.values.int(1), self.values.int(0));
        let last = self.values.minus(extents[at], one);
        let downwards = self.values.minus(last, value);
        // The value is never negative, but its bounds do not show that.
        Ok(self.values.extreme(Binary::Max, downwards, zero))
    }

    /// Returns a thread's coordinate. In a workgroup that is dispatched as one row, it is computed from the thread's
    /// position in the row.
    pub(crate) fn thread(&mut self, slot: Slot) -> ValueId {
        if let Some(size) = self.grid.row {
            let count: u32 = self.grid.local.iter().product();
            let subgroup = self.coordinate_value(Coordinate::Subgroup, (count / size).into());
            let lane = self.coordinate_value(Coordinate::SubgroupLane, size.into());
            let scaled = self.values.scaled(subgroup, size.into());
            let place = self.values.plus(scaled, lane);
            return self.digit_of(place, slot);
        }
        let (which, count) = match slot {
            Slot::Linear => (Coordinate::LocalIndex, self.grid.local.iter().product()),
            _ => (Coordinate::Local(slot.index() as u8), self.grid.local[slot.index()]),
        };
        self.coordinate_value(which, count.into())
    }

    /// Returns a coordinate of the thread at a position in the workgroup's row, in which x is the fastest.
    fn digit_of(&mut self, place: ValueId, slot: Slot) -> ValueId {
        let at = match slot {
            Slot::Linear => return place,
            _ => slot.index(),
        };
        let faster = self.values.int(self.grid.local[..at].iter().product::<u32>().into());
        let (own, slower) = (self.values.int(self.grid.local[at].into()), self.grid.local[at + 1..].iter().any(|n| *n > 1));
        let quotient = self.values.floor_div(place, faster);
        if slower { self.values.floor_mod(quotient, own) } else { quotient }
    }

    /// Returns a subgroup's coordinate in its workgroup, or an invocation's coordinate in its subgroup. x is the
    /// fastest.
    pub(crate) fn of_subgroup(&mut self, level: Level, slot: Slot) -> Result<ValueId> {
        let size = self.fixed_subgroup()?;
        let local: u32 = self.grid.local.iter().product();
        let (which, count) = match level {
            Level::Subgroup => (Coordinate::Subgroup, local.div_ceil(size)),
            _ => (Coordinate::SubgroupLane, size),
        };
        let mut value = self.coordinate_value(which, count.into());
        if slot == Slot::Linear || level == Level::Lane {
            return Ok(value);
        }
        for faster in [Slot::X, Slot::Y, Slot::Z] {
            let extent = self.slot_extent(level, faster)?;
            if faster == slot {
                let slower = [Slot::Y, Slot::Z].iter().any(|s| s.index() > slot.index() && self.has_slot(level, *s));
                return Ok(if slower { self.values.floor_mod(value, extent) } else { value });
            }
            value = self.values.floor_div(value, extent);
        }
        Ok(value)
    }

    fn has_slot(&self, level: Level, slot: Slot) -> bool {
        self.grid.subgroups.iter().any(|(_, l, s)| *l == level && *s == slot)
    }

    /// Returns the extent of a slot of subgroups or lanes: the greatest extent of its axes.
    pub(crate) fn slot_extent(&mut self, level: Level, slot: Slot) -> Result<ValueId> {
        self.begin(&[]);
        let axes: Vec<AxisId> =
            self.grid.subgroups.iter().filter(|(_, l, s)| *l == level && *s == slot).map(|(axis, ..)| *axis).collect();
        let mut most = 1;
        for axis in axes {
            let extent = self.resolve(self.program.axes[axis].extent)?;
            let name = &self.program.axes[axis].name;
            let Some(n) = self.values.as_int(extent) else {
                return Err(
                    self.error(format!("the extent of `{name}` must be a literal: it is bound to subgroups or their lanes"))
                );
            };
            most = most.max(n);
        }
        Ok(self.values.int(most))
    }

    /// Returns the subgroup size. The variant then requires it.
    pub fn fixed_subgroup(&mut self) -> Result<u32> {
        let Some(size) = self.profile.subgroup else {
            let message = format!("the profile `{}` does not fix the subgroup size", self.profile.name);
            return Err(self.error(message).help("say `subgroup: 32` in the profile, or distribute over threads"));
        };
        let what = "binding axes to subgroups";
        check_feature(self.profile, self.span, Feature::SubgroupSize, what, "distribute over threads instead")?;
        self.grid.subgroup = Some(size);
        Ok(size)
    }

    /// Returns a coordinate that is less than `count`.
    pub fn coordinate_value(&mut self, which: Coordinate, count: i64) -> ValueId {
        match count {
            ..=1 => self.values.int(0),
            _ => self.values.add(Kind::Coordinate(which), DType::I32, 1, 0, Bounds(0, count).plus(Bounds(0, -1))),
        }
    }
}
