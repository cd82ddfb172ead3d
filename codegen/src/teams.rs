//! The invocations of a workgroup that share a reduction: those that differ only in some of their coordinates.

use crate::Resolver;
use crate::Result;
use crate::values::{Coordinate, ValueId};
use tilewright_dsl::nest::{AllReduce, Level, Scope, Slot};

/// The invocations or subgroups that share a reduction.
pub struct Team {
    /// The size of the team, in invocations or subgroups.
    pub size: u32,
    /// The number of this one in its team.
    pub member: ValueId,
    /// The number of such teams.
    pub teams: u32,
    /// The number of this team among them.
    pub team: ValueId,
}

/// A coordinate of an invocation in its workgroup, and its extent.
struct Digit {
    level: Level,
    slot: Slot,
    value: ValueId,
    count: u32,
}

impl Resolver<'_> {
    /// Returns the invocations that take part, as coordinates of the workgroup.
    pub fn team(&mut self, c: &AllReduce) -> Result<Team> {
        let all = self.coordinates()?;
        let wanted = |level: Level| c.scope == Scope::Workgroup || level == Level::Lane;
        let (reduced, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|at| wanted(at.level) && self.is_reduced(c, at.level, at.slot));
        let (size, member) = self.place_among(&reduced);
        let (teams, team) = self.place_among(&others);
        Ok(Team { size, member, teams, team })
    }

    /// Returns the coordinates of an invocation in its workgroup, the fastest first.
    fn coordinates(&mut self) -> Result<Vec<Digit>> {
        const SLOTS: [Slot; 3] = [Slot::X, Slot::Y, Slot::Z];
        if self.grid.subgroups.is_empty() {
            let local = self.grid.local;
            let digit = |(slot, count): (Slot, u32)| Digit { level: Level::Thread, slot, count, value: self.thread(slot) };
            return Ok(SLOTS.into_iter().zip(local).map(digit).collect());
        }
        let size = self.fixed_subgroup()?;
        let lane = self.of_subgroup(Level::Lane, Slot::X)?;
        let mut all = vec![Digit { level: Level::Lane, slot: Slot::X, count: size, value: lane }];
        for slot in SLOTS {
            let (value, count) = (self.of_subgroup(Level::Subgroup, slot)?, self.slot_extent(Level::Subgroup, slot)?);
            let count = self.values.as_int(count).and_then(|n| u32::try_from(n).ok()).unwrap_or(1);
            all.push(Digit { level: Level::Subgroup, slot, count, value });
        }
        Ok(all)
    }

    /// True if a reduction runs over a coordinate.
    fn is_reduced(&self, c: &AllReduce, level: Level, slot: Slot) -> bool {
        let threads = self.grid.threads.iter().map(|(axis, slot)| (axis, Level::Thread, *slot));
        let mut bound = threads.chain(self.grid.subgroups.iter().map(|(axis, level, slot)| (axis, *level, *slot)));
        let same = |of: Slot| of == slot || of == Slot::Linear || level == Level::Lane;
        bound.any(|(axis, l, s)| c.over.contains(axis) && l == level && same(s))
    }

    /// Linearizes coordinates, the first being the fastest. Returns the number of values, and the number of this one.
    fn place_among(&mut self, digits: &[Digit]) -> (u32, ValueId) {
        let (mut total, mut number) = (1, self.values.int(0));
        for digit in digits {
            let scaled = self.values.scaled(digit.value, total.into());
            number = self.values.plus(number, scaled);
            total *= digit.count;
        }
        (total, number)
    }

    /// Returns the subgroups of a team.
    pub fn team_of_subgroups(&mut self, c: &AllReduce, size: u32) -> Result<Team> {
        if self.grid.subgroups.is_empty() {
            let counts = self.coordinates()?.into_iter().filter(|at| self.is_reduced(c, at.level, at.slot)).map(|at| at.count);
            let (team, all) = (counts.product::<u32>(), self.grid.local.iter().product::<u32>());
            let (count, teams) = (team / size, all / team.max(1));
            let subgroup = self.coordinate_value(Coordinate::Subgroup, (all / size).into());
            let each = self.values.int(count.max(1).into());
            let (team, member) = (self.values.floor_div(subgroup, each), self.values.floor_mod(subgroup, each));
            return Ok(Team { size: count, member, teams, team });
        }
        let subgroups = self.coordinates()?.into_iter().filter(|at| at.level == Level::Subgroup);
        let (reduced, others): (Vec<Digit>, Vec<Digit>) = subgroups.partition(|at| self.is_reduced(c, at.level, at.slot));
        let ((size, member), (teams, team)) = (self.place_among(&reduced), self.place_among(&others));
        Ok(Team { size, member, teams, team })
    }
}
