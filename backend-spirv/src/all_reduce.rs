//! Reductions across invocations: by [subgroup](crate::subgroups), by a tree in shared memory, or by [atomics](crate::atomics).
//! The first two leave the result with every invocation. A tree works for any number of them.

use crate::chunks::Chunks;
use crate::emit::{Emit, Result};
use crate::module::{Id, Type};
use crate::values::{Op as ValueOp, Operands, ValueId};
use rspirv::spirv::{Op, StorageClass};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AllReduce, How, Level, Monoid, Scope, Slot};

/// The components of a reduction's state.
pub(crate) type State = Vec<ValueId>;

/// The invocations that share a reduction: those that differ only in some coordinates of the workgroup.
struct Team {
    /// How many.
    size: u32,
    /// How many teams.
    teams: u32,
    /// Which of the team, and which team.
    member: ValueId,
    team: ValueId,
}

/// A coordinate of an invocation in its workgroup, and how many values it has.
pub(crate) struct Digit {
    pub(crate) level: Level,
    pub(crate) slot: Slot,
    pub(crate) value: ValueId,
    pub(crate) count: u32,
}

impl Emit<'_> {
    pub(crate) fn all_reduce(&mut self, c: &AllReduce) -> Result<()> {
        self.resolved.clear();
        self.preds.clear();
        let monoid = self.monoid(c.stage)?.clone();
        let state: Vec<ValueId> = c.src.iter().map(|place| self.load_state(place)).collect::<Result<_>>()?;
        let lanes = state.iter().map(|v| self.values.width(*v)).max().unwrap_or(1);
        let one = |e: &mut Self, lane| state.iter().map(|v| e.values.extract(*v, lane)).collect::<State>();
        let states: Vec<State> = (0..lanes).map(|lane| one(self, lane)).collect();
        let states = match (c.how, c.scope) {
            (How::Atomic, _) => return self.atomic(c, &monoid, &state),
            (_, Scope::Invocation | Scope::Device) => states,
            (How::Subgroup, Scope::Subgroup) => self.across_lanes(&monoid, states)?,
            (How::Subgroup, Scope::Workgroup) => self.across_subgroups(c, &monoid, states)?,
            (How::Tree, _) => self.tree(c, &monoid, states)?,
        };
        self.resolved.clear();
        c.dst.iter().enumerate().try_for_each(|(component, to)| {
            let parts: Operands = states.iter().map(|state| state[component]).collect();
            let value = if parts.len() == 1 { parts[0] } else { self.values.op(ValueOp::Join, parts) };
            self.store(to, value)
        })
    }

    /// Each state combined with another one.
    pub(crate) fn combined_each(&mut self, monoid: &Monoid, states: Vec<State>, others: Vec<State>) -> Result<Vec<State>> {
        states.into_iter().zip(others).map(|(state, other)| self.combined(monoid, state, other)).collect()
    }

    /// The combination of two states.
    pub(crate) fn combined(&mut self, monoid: &Monoid, state: Vec<ValueId>, item: Vec<ValueId>) -> Result<Vec<ValueId>> {
        // States and items are others in each combination: what names them is not to be remembered.
        std::mem::swap(&mut self.resolved, &mut self.scratch);
        self.resolved.clear();
        (self.state, self.item) = (state, item);
        let combined: Result<Vec<ValueId>> = monoid.combine.iter().map(|e| self.resolve(*e)).collect();
        std::mem::swap(&mut self.resolved, &mut self.scratch);
        combined.inspect(|values| self.note_combined(values))
    }

    /// The invocations that take part, as coordinates of the workgroup.
    fn team(&mut self, c: &AllReduce) -> Result<Team> {
        let all = self.coordinates()?;
        let wanted = |level: Level| c.scope == Scope::Workgroup || level == Level::Lane;
        let (reduced, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|at| wanted(at.level) && self.is_reduced(c, at.level, at.slot));
        let (size, member) = self.place_among(&reduced);
        let (teams, team) = self.place_among(&others);
        Ok(Team { size, teams, member, team })
    }

    /// The coordinates of an invocation in its workgroup, the fastest first.
    pub(crate) fn coordinates(&mut self) -> Result<Vec<Digit>> {
        const SLOTS: [Slot; 3] = [Slot::X, Slot::Y, Slot::Z];
        if self.grid.subgroups.is_empty() {
            let local = self.local;
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

    /// Whether a coordinate is reduced.
    pub(crate) fn is_reduced(&self, c: &AllReduce, level: Level, slot: Slot) -> bool {
        let threads = self.grid.threads.iter().map(|(axis, slot)| (axis, Level::Thread, *slot));
        let mut bound = threads.chain(self.grid.subgroups.iter().map(|(axis, level, slot)| (axis, *level, *slot)));
        let same = |of: Slot| of == slot || of == Slot::Linear || level == Level::Lane;
        bound.any(|(axis, l, s)| c.over.contains(axis) && l == level && same(s))
    }

    /// How many values some coordinates have together, and which one they are, the first the fastest.
    pub(crate) fn place_among(&mut self, digits: &[Digit]) -> (u32, ValueId) {
        let (mut total, mut number) = (1, self.values.int(0));
        for digit in digits {
            let scaled = self.values.scaled(digit.value, total.into());
            number = self.values.plus(number, scaled);
            total *= digit.count;
        }
        (total, number)
    }

    /// A tree in shared memory: with each step half of the members take another's states in.
    fn tree(&mut self, c: &AllReduce, monoid: &Monoid, states: Vec<State>) -> Result<Vec<State>> {
        let team = self.team(c)?;
        if team.size == 1 {
            return Ok(states);
        }
        let shared = self.scratch(&states, team.size * team.teams)?;
        let base = self.values.scaled(team.team, team.size.into());
        let own = self.values.plus(base, team.member);
        self.put(&shared, own, &states)?;
        self.barrier(c.scope)?;
        let mut half = team.size.next_power_of_two() / 2;
        while half > 0 {
            // In a team that is no power of two, the last members have no partner.
            let active = self.values.int(half.min(team.size - half).into());
            let cond = self.values.less(team.member, active);
            let cond = self.scalar(cond)?;
            let then = self.region(true, |e| {
                let mine = e.get(&shared, own)?;
                let step = e.values.int(half.into());
                let other = e.values.plus(own, step);
                let theirs = e.get(&shared, other)?;
                let combined = e.combined_each(monoid, mine, theirs)?;
                e.put(&shared, own, &combined)
            })?;
            self.branch_if(cond, &then);
            self.barrier(c.scope)?;
            half /= 2;
        }
        let result = self.get(&shared, base)?;
        // The next reduction may overwrite what is read here.
        self.barrier(c.scope)?;
        Ok(result)
    }

    /// Shared arrays for such states, of so many elements.
    pub(crate) fn scratch(&mut self, states: &[State], elements: u32) -> Result<Vec<Vec<(Id, DType)>>> {
        let mut arrays = Vec::new();
        for (lane, state) in states.iter().enumerate() {
            let mut of = Vec::new();
            for (component, value) in state.iter().enumerate() {
                let dtype = self.values.dtype(*value);
                of.push((self.scratch_array(lane * state.len() + component, dtype, elements)?, dtype));
            }
            arrays.push(of);
        }
        Ok(arrays)
    }

    /// The `n`-th array of that type and length.
    fn scratch_array(&mut self, n: usize, dtype: DType, elements: u32) -> Result<Id> {
        let held = if dtype == DType::Bool { DType::U32 } else { dtype };
        let key = (n, held, elements);
        if let Some((_, id)) = self.arrays.iter().find(|(k, _)| *k == key) {
            return Ok(*id);
        }
        let of = self.scalar_type(held)?;
        let array = self.module.ty(Type::Array(of, elements, None));
        let id = self.module.global(StorageClass::Workgroup, array, None);
        let bytes = if held == DType::F16 && self.native_f16() { 2 } else { 4 };
        self.shared_bytes = self.shared_bytes.saturating_add(elements.saturating_mul(bytes));
        self.arrays.push((key, id));
        Ok(id)
    }

    fn element(&mut self, array: Id, dtype: DType, at: ValueId) -> Result<(Id, Id)> {
        let of = self.scalar_type(if dtype == DType::Bool { DType::U32 } else { dtype })?;
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let (level, at) = (self.level(), self.scalar(at)?);
        Ok((self.ins(level, Op::AccessChain, pointer, &[array, at]), of))
    }

    pub(crate) fn put(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId, states: &[State]) -> Result<()> {
        for ((array, dtype), value) in shared.iter().flatten().zip(states.iter().flatten()) {
            let value = self.scalar(*value)?;
            let (place, _) = self.element(*array, *dtype, at)?;
            let value = self.before_store(&[value], *dtype, 1, false)?;
            self.here().op(Op::Store, &[place, value]);
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId) -> Result<Vec<State>> {
        let level = self.level();
        let one = |e: &mut Self, (array, dtype): &(Id, DType)| {
            let (place, of) = e.element(*array, *dtype, at)?;
            let loaded = e.ins(level, Op::Load, of, &[place]);
            let chunks = e.after_load(loaded, *dtype, 1, level, false)?;
            Ok(e.now(*dtype, chunks))
        };
        shared.iter().map(|arrays| arrays.iter().map(|array| one(self, array)).collect()).collect()
    }

    /// A value that was computed here.
    pub(crate) fn now(&mut self, dtype: DType, chunks: Chunks) -> ValueId {
        let level = self.level();
        let value = self.values.moment(dtype, 1, level);
        self.define(value, chunks);
        value
    }
}
