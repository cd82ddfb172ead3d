//! Computes that must not run out of range.

use crate::Resolver;
use crate::hash::Map;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Binary, Expr};
use tilewright_dsl::facts::Prover;
use tilewright_dsl::nest::{AxisId, BufferId, Compute, Fate, Phase, Space};

/// The results so far.
#[derive(Default)]
pub(crate) struct Confined {
    /// For each compute, by its place in the nest, whether it must not run out of range.
    computes: Map<usize, bool>,
    /// For each axis, whether loops may run over it although it is empty.
    over_nothing: Map<AxisId, bool>,
}

impl<'p> Resolver<'p> {
    /// True if a compute must not read, or write registers, when it is out of range.
    pub fn must_not_run(&mut self, c: &Compute) -> bool {
        // Unrolled loops ask this again in each iteration, so the answer is remembered.
        if let Some(known) = self.confined.computes.get(&self.compute) {
            return *known;
        }
        let guarded =
            self.reads_updated(c) || self.runs_into_others(c) || c.preds.iter().any(|pred| self.runs_over_nothing(pred.axis));
        self.confined.computes.insert(self.compute, guarded);
        guarded
    }

    /// True if a compute that can be out of range reads a tensor that its dispatch updates: at the clamped index, it would read an element
    /// that another invocation writes. Also true if it writes back a shared copy, or carries over a shared maximum, whose elements there
    /// were never written, and if it updates memory, because it reads the element that it updates.
    fn reads_updated(&self, c: &Compute) -> bool {
        let stored = |b: BufferId| self.program.buffers[b].space.is_global();
        let hosted = self.program.notes.hosts.contains_key(&c.stage) && c.dst.iter().any(|to| stored(to.buffer));
        let updated = |b: BufferId| match self.program.buffers[b].space {
            Space::Update => self.uses.of(b).is_some_and(|(_, usage)| usage.writes),
            Space::Shared => hosted || c.phase == Phase::Resume && self.program.stages[c.stage].buffer == b,
            _ => false,
        };
        let in_memory = |b: BufferId| stored(b) || self.program.buffers[b].space == Space::Shared;
        let combines = c.phase == Phase::Update && c.dst.iter().any(|to| in_memory(to.buffer));
        !c.preds.is_empty() && (combines || self.reads_any(c, &updated))
    }

    /// True if the values of a compute read a buffer that `is` selects.
    fn reads_any(&self, c: &Compute, is: &dyn Fn(BufferId) -> bool) -> bool {
        c.value.iter().any(|v| self.program.exprs.reads(*v).iter().any(|r| is(r.buffer)))
    }

    /// True if a write past the end of an axis would hit the register of another point. This happens if an index is composed of
    /// that axis and others, because the next tile begins there.
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

    /// Returns the axes that an axis is composed of here.
    fn parts(&self, axis: AxisId) -> &'p [AxisId] {
        match &self.program.axes[axis].fate {
            _ if self.bound[axis.index()].is_some() => &[],
            Fate::Live => &[],
            Fate::Split(split) => &split.parts,
            Fate::Fused { into, .. } => std::slice::from_ref(into),
        }
    }

    /// True if loops may run over an empty axis, so that there is not a value to clamp to. This applies to hulls, to parts
    /// whose extents do not follow from the axis's extent, and to axes composed of these.
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
        // The extent of such a part is the axis's extent divided and rounded up, so that it is 0 if the axis is empty.
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
