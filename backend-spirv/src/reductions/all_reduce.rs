//! Reductions across invocations: by [subgroup](super::subgroups), by a tree in shared memory, or by [atomics](super::atomics).
//! The first two leave the result with every invocation. A tree works for any number of invocations.

use crate::Result;
use crate::context::BlockContext;
use crate::control::Structured;
use tilewright_codegen::values::{Op as ValueOp, Operands, ValueId};
use tilewright_dsl::nest::{AllReduce, How, Monoid, Scope};

/// The components of a reduction's state.
pub(crate) type State = Vec<ValueId>;

impl BlockContext<'_> {
    /// Emits an all-reduce over elements.
    pub(crate) fn all_reduce(&mut self, c: &AllReduce) -> Result<()> {
        self.resolver.begin(&[]);
        let monoid = self.resolver.monoid(c.stage)?;
        let state: Vec<ValueId> = c.src.iter().map(|place| self.resolving(|r| r.load_state(place))).collect::<Result<_>>()?;
        let lanes = state.iter().map(|v| self.resolver.values.width(*v)).max().unwrap_or(1);
        let one = |e: &mut Self, lane| state.iter().map(|v| e.resolver.values.extract(*v, lane)).collect::<State>();
        let states: Vec<State> = (0..lanes).map(|lane| one(self, lane)).collect();
        let states = match (c.how, c.scope) {
            (How::Atomic, _) => return self.atomic(c, monoid, &state),
            (_, Scope::Invocation | Scope::Device) => states,
            (How::Subgroup, Scope::Subgroup) => self.across_lanes(monoid, states)?,
            (How::Subgroup, Scope::Workgroup) => self.across_subgroups(c, monoid, states)?,
            (How::Tree, _) => self.tree(c, monoid, states)?,
            (How::Matrix, _) => return Err(self.defect("rows of matrices are combined outside of their loops")),
        };
        self.resolver.forget();
        c.dst.iter().enumerate().try_for_each(|(component, to)| {
            let parts: Operands = states.iter().map(|state| state[component]).collect();
            let value = if parts.len() == 1 { parts[0] } else { self.resolver.values.op(ValueOp::Join, parts) };
            self.store(to, value)
        })
    }

    /// Combines each state with another one.
    pub(crate) fn combined_each(&mut self, monoid: &Monoid, states: Vec<State>, others: Vec<State>) -> Result<Vec<State>> {
        states.into_iter().zip(others).map(|(state, other)| self.combined(monoid, state, other)).collect()
    }

    /// Returns the combination of two states.
    pub(crate) fn combined(&mut self, monoid: &Monoid, state: Vec<ValueId>, item: Vec<ValueId>) -> Result<Vec<ValueId>> {
        let combined = self.resolving(|r| r.combination(monoid, state, item))?;
        self.fuse.note_combined(&self.resolver.values, &combined);
        Ok(combined)
    }

    /// Reduces by a tree in shared memory. In each step, half of the members combine another member's states into their own.
    fn tree(&mut self, c: &AllReduce, monoid: &Monoid, states: Vec<State>) -> Result<Vec<State>> {
        let team = self.resolving(|r| r.team(c))?;
        if team.size == 1 {
            return Ok(states);
        }
        let shared = self.shared_states(&states, team.size * team.teams)?;
        let base = self.resolver.values.scaled(team.team, team.size.into());
        let own = self.resolver.values.plus(base, team.member);
        self.put(&shared, own, &states)?;
        self.barrier(c.scope)?;
        let mut half = team.size.next_power_of_two() / 2;
        while half > 0 {
            // If the size of a team is not a power of two, the last members do not have a partner.
            let active = self.resolver.values.int(half.min(team.size - half).into());
            let cond = self.resolver.values.less(team.member, active);
            self.under(cond, |e| {
                let mine = e.get(&shared, own)?;
                let step = e.resolver.values.int(half.into());
                let other = e.resolver.values.plus(own, step);
                let theirs = e.get(&shared, other)?;
                let combined = e.combined_each(monoid, mine, theirs)?;
                e.put(&shared, own, &combined)
            })?;
            self.barrier(c.scope)?;
            half /= 2;
        }
        let result = self.get(&shared, base)?;
        // A barrier is needed here, because the next reduction may overwrite the result that was just read.
        self.barrier(c.scope)?;
        Ok(result)
    }
}
