//! Computes: stores of values, and updates of a reduction's state.

use crate::Result;
use crate::context::BlockContext;
use crate::control::Structured;
use tilewright_codegen::values::ValueId;
use tilewright_codegen::{Resolver, View};
use tilewright_dsl::nest::{Access, Body, Compute, Phase};

impl<'p> BlockContext<'p> {
    /// Emits a compute over elements.
    pub(crate) fn compute(&mut self, c: &Compute) -> Result<()> {
        self.resolver.begin_compute(c);
        if c.preds.len() > 64 {
            return Err(self.error("more than 64 predicates on one compute"));
        }
        let reduction = matches!(self.program.stages[c.stage].body, Body::Reduce { .. });
        match c.phase {
            Phase::Update if self.resolver.must_not_run(c) => self.update_guarded(c),
            Phase::Update => self.update(c),
            Phase::Atomic => self.update_by_atomic(c),
            Phase::Whole if reduction => Err(self.error("a whole reduction reaches the backend: lowering should have split it")),
            Phase::Whole | Phase::Init | Phase::Resume | Phase::Finish if self.resolver.must_not_run(c) => self.assign_guarded(c),
            Phase::Whole | Phase::Init | Phase::Resume | Phase::Finish => self.assign(c),
        }
    }

    fn assign(&mut self, c: &Compute) -> Result<()> {
        let values: Result<Vec<ValueId>> = c.value.iter().map(|v| self.resolve(*v)).collect();
        c.dst.iter().zip(values?).skip(c.given).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Assigns under the guard, which covers the reads too. If the lanes are not all in range together, each lane has a guard.
    fn assign_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.assign(c),
            Some(view) => {
                // All values are known before the first store, because they can read what the stores overwrite.
                let values = c.value.iter().map(|value| e.resolve_in(*value, view)).collect::<Result<Vec<_>>>()?;
                c.dst.iter().zip(values).skip(c.given).try_for_each(|(to, value)| e.store_one(to, value, view))
            }
        })
    }

    /// Updates under the guard, which covers the reads too.
    fn update_guarded(&mut self, c: &Compute) -> Result<()> {
        self.guarded(&mut |e, lane| match lane {
            None => e.update(c),
            Some(view) => {
                let items = c.value.iter().map(|v| e.resolve_in(*v, view)).collect::<Result<_>>()?;
                let combined = e.taken_in(c, items, |r, place| r.load_one(place, view))?;
                c.dst.iter().zip(combined).skip(c.given).try_for_each(|(to, value)| e.store_one(to, value, view))
            }
        })
    }

    /// Emits code that runs if the compute is in range: once for all lanes, or once for each lane in its view.
    fn guarded(&mut self, f: &mut dyn FnMut(&mut Self, Option<View>) -> Result<()>) -> Result<()> {
        let guard = self.resolving(|r| r.in_range(View::ALL))?;
        if self.resolver.values.width(guard) == 1 {
            return self.under(guard, |e| f(e, None));
        }
        for lane in 0..self.resolver.lane_count() {
            let view = View::ALL.lane(lane);
            let guard = self.resolving(|r| r.in_range(view))?;
            self.under(guard, |e| f(e, Some(view)))?;
        }
        Ok(())
    }

    /// Emits `dst = combine(dst, value)`.
    fn update(&mut self, c: &Compute) -> Result<()> {
        let monoid = self.resolver.monoid(c.stage)?;
        if self.resolver.in_dot() {
            return self.update_by_dot(c);
        }
        let mut items: Vec<ValueId> = c.value.iter().map(|v| self.resolve(*v)).collect::<Result<_>>()?;
        let counts = self.resolving(|r| r.item_counts())?;
        let goes_on = monoid.goes_on(&self.program.exprs);
        for (item, identity) in items.iter_mut().zip(&monoid.identity).filter(|_| !goes_on) {
            let identity = self.resolve(*identity)?;
            *item = self.resolver.choose(counts, *item, identity);
        }
        let mut combined = self.taken_in(c, items, |r, place| r.load_state(place))?;
        for (new, place) in combined.iter_mut().zip(&c.dst).skip(c.given).filter(|_| goes_on) {
            let state = self.resolving(|r| r.load_state(place))?;
            *new = self.resolver.choose(counts, *new, state);
        }
        c.dst.iter().zip(combined).skip(c.given).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Emits `dst = dst + dot product`.
    fn update_by_dot(&mut self, c: &Compute) -> Result<()> {
        let counts = self.resolving(|r| r.item_counts())?;
        let items = c.value.iter().map(|item| self.resolving(|r| r.dot(*item, counts))).collect::<Result<_>>()?;
        let combined = self.taken_in(c, items, |r, place| r.load_state(place))?;
        c.dst.iter().zip(combined).try_for_each(|(to, value)| self.store(to, value))
    }

    /// Combines items into the states that `load` reads, and returns the new states.
    fn taken_in(
        &mut self,
        c: &Compute,
        items: Vec<ValueId>,
        load: impl Fn(&mut Resolver<'p>, &Access) -> Result<ValueId>,
    ) -> Result<Vec<ValueId>> {
        let monoid = self.resolver.monoid(c.stage)?;
        self.classes.note_states(&self.resolver, monoid, c, &items);
        let states: Vec<ValueId> = c.dst.iter().map(|place| self.resolving(|r| load(r, place))).collect::<Result<_>>()?;
        self.fuse.note_accumulators(&self.resolver, monoid, &states);
        self.combined(monoid, states, items)
    }
}
