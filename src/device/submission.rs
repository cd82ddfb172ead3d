//! Splits steps into parts. Each part is one submission. When a part is seen to end, the new tensors that it completes get
//! contents.

use super::backend::LaunchStep;
use super::memory::Memory;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Returns each memory that some steps access, whether a step writes it, and the name of the first step that accesses it. They are
/// ordered by id, so that two threads that take the accesses cannot deadlock.
pub(crate) fn accessed(steps: &[LaunchStep]) -> impl Iterator<Item = (&Arc<Memory>, bool, &str)> {
    let mut accessed: BTreeMap<u64, (&Arc<Memory>, bool, &str)> = BTreeMap::new();
    for (step, u) in steps.iter().flat_map(|s| s.uses.iter().map(move |u| (s, u))) {
        accessed.entry(u.memory.id()).or_insert((&u.memory, false, &step.name)).1 |= u.writes;
    }
    accessed.into_values()
}

/// A part of some steps, which is submitted at once.
pub(crate) struct Part {
    steps: Arc<[LaunchStep]>,
    range: Range<usize>,
}

impl Part {
    /// Splits steps into parts of at most `most` steps.
    pub(crate) fn all(steps: &Arc<[LaunchStep]>, most: usize) -> impl Iterator<Item = Part> {
        let count = steps.len();
        let part = move |first: usize| Part { steps: steps.clone(), range: first..count.min(first.saturating_add(most)) };
        (0..count).step_by(most.max(1)).map(part)
    }

    pub(crate) fn steps(&self) -> &[LaunchStep] {
        self.steps.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the ids of the memory that the part uses.
    pub(crate) fn used(&self) -> HashSet<u64> {
        self.steps().iter().flat_map(|step| &step.uses).map(|used| used.memory.id()).collect()
    }

    fn completes(&self) -> impl Iterator<Item = &Memory> {
        self.steps().iter().flat_map(|step| &step.completes).map(|memory| &**memory)
    }

    /// Notes that the part was seen to end.
    pub(crate) fn set_written(&self) {
        self.completes().for_each(Memory::set_written);
    }

    /// Notes that the part is parked.
    pub(crate) fn set_in_flight(&self) {
        self.completes().for_each(Memory::set_in_flight);
    }
}
