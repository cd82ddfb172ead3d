//! Which computes must not run where they are out of range.

use super::Resolver;
use crate::hash::Map;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Binary, Expr};
use tilewright_dsl::facts::Prover;
use tilewright_dsl::nest::{AxisId, BufferId, Compute, Fate, Phase, Space};

/// What was found so far.
#[derive(Default)]
pub(crate) struct Confined {
    /// Of computes, by their place in the nest: whether they must not run where they are out of range.
    computes: Map<usize, bool>,
    /// Of axes: whether loops may run over one that has no value.
    over_nothing: Map<AxisId, bool>,
}

impl<'p> Resolver<'p> {
    /// Whether a compute must not even read, or write registers, where it is out of range.
    pub(crate) fn must_not_run(&mut self, c: &Compute) -> bool {
        // Asked again in each iteration that is written out.
        if let Some(known) = self.confined.computes.get(&self.compute) {
            return *known;
        }
        let guarded =
            self.reads_updated(c) || self.runs_into_others(c) || c.preds.iter().any(|pred| self.runs_over_nothing(pred.axis));
        self.confined.computes.insert(self.compute, guarded);
        guarded
    }

    /// Whether a compute that can be out of range reads a tensor that it updates: it would read, at the clamped index, what
    /// another invocation writes. Or whether it writes back a shared copy of which nothing was written there.
    fn reads_updated(&self, c: &Compute) -> bool {
        let stored = |b: BufferId| self.program.buffers[b].space.is_global();
        let hosted = self.program.hosts.contains_key(&c.stage) && c.dst.iter().any(|to| stored(to.buffer));
        let updated = |b: BufferId| match self.program.buffers[b].space {
            Space::Update => true,
            Space::Shared => hosted || c.phase == Phase::Resume,
            _ => false,
        };
        !c.preds.is_empty() && c.value.iter().any(|v| self.program.exprs.reads(*v).iter().any(|r| updated(r.buffer)))
    }

    /// Whether what it writes past the end of an axis is the register of another point: of an index that is made of that axis and
    /// others, the next tile begins there.
    fn runs_into_others(&self, c: &Compute) -> bool {
        let mut parts: Vec<AxisId> = Vec::new();
        for place in c.dst.iter().filter(|place| self.program.buffers[place.buffer].space == Space::Register) {
            for index in &place.index {
                self.program.exprs.uses_axis(*index, &mut |axis| {
                    parts.extend(self.parts(axis));
                    false
                });
            }
        }
        while let Some(axis) = parts.pop() {
            if c.preds.iter().any(|pred| pred.axis == axis) {
                return true;
            }
            parts.extend(self.parts(axis));
        }
        false
    }

    /// What an axis is made of here.
    fn parts(&self, axis: AxisId) -> &'p [AxisId] {
        match &self.program.axes[axis].fate {
            _ if self.bound[axis.index()].is_some() => &[],
            Fate::Live => &[],
            Fate::Split(split) => &split.parts,
            Fate::Fused { into, .. } => std::slice::from_ref(into),
        }
    }

    /// Whether loops may run over an axis that has no value at all, so that there is none to clamp to: hulls, and parts whose
    /// extents do not follow from the axis's, or which are made of such.
    fn runs_over_nothing(&mut self, axis: AxisId) -> bool {
        if let Some(known) = self.confined.over_nothing.get(&axis) {
            return *known;
        }
        let runs = self.may_run_over_nothing(axis);
        self.confined.over_nothing.insert(axis, runs);
        runs
    }

    fn may_run_over_nothing(&mut self, axis: AxisId) -> bool {
        let (axes, exprs) = (&self.program.axes, &self.program.exprs);
        let extent = axes[axis].extent;
        let split = match &axes[axis].fate {
            Fate::Live => return false,
            Fate::Fused { into, .. } => return self.runs_over_nothing(*into),
            Fate::Split(split) => split,
        };
        if exprs.as_int(extent).is_some_and(|n| n > 0) {
            return false;
        }
        // The quotient, rounded up: of nothing it is nothing.
        let prover = Prover::new(self.program);
        let follows = |part: &AxisId| match exprs.get(axes[*part].extent) {
            Expr::Binary(Binary::FloorDiv, whole, by) => exprs.as_int(*by).is_some_and(|by| {
                let most = prover.poly(extent).and_then(|e| e.plus(by - 1));
                most.is_some_and(|most| prover.less_equal(*whole, &most))
            }),
            _ => axes[*part].extent == extent,
        };
        !split.parts.iter().any(|part| follows(part) && !self.runs_over_nothing(*part)) && !prover.positive(extent)
    }
}
