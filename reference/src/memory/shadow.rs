//! Records who accessed each element of a buffer during a dispatch.
//!
//! Each element has its last writer, and a [`Trail`] of its readers. If a module has atomic operations, each element also
//! has a trail of atomic updates and a trail of atomic loads. Atomic accesses conflict with plain accesses, but not with
//! each other. An access is stored before conflicts are searched for, so that at least one of two threads sees the other's
//! access.

use super::Conflict;
use super::trail::{Trail, Who};
use super::{clock, zeros};
use crate::fault::Access;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The accesses to a buffer's elements.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Workgroup + 1 (26 bits), time (27), lane (11, including whether the whole subgroup accessed it). 0 means that
    /// it was never written.
    writers: Box<[AtomicU64]>,
    readers: Trail,
    /// Empty if the module has no atomic operations.
    updates: Trail,
    atomic_loads: Trail,
    /// The bytes of an element.
    pub(crate) element: u32,
}

/// The number of workgroups that can be distinguished.
pub(crate) const MOST_GROUPS: u64 = (1 << 26) - 2;
const WRITE_TIMES: u64 = (1 << 27) - 1;

impl Shadow {
    /// Creates the record for a buffer. Returns `None` if there is not enough memory.
    pub(crate) fn new(elements: u64, element: u32, atomics: bool) -> Option<Shadow> {
        let count = usize::try_from(elements).ok()?;
        let atomic = if atomics { count } else { 0 };
        Some(Shadow {
            writers: zeros(count)?,
            readers: Trail::new(count)?,
            updates: Trail::new(atomic)?,
            atomic_loads: Trail::new(atomic)?,
            element,
        })
    }

    /// Records a read of an element. Returns a conflicting access.
    pub(crate) fn read(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.readers.record(at, who, clock::lane(lane));
        if lane != clock::lane(lane) {
            // Two lanes of the subgroup are recorded, so that the access conflicts with each lane.
            self.readers.record(at, who, who.clock.neighbour(clock::lane(lane)));
        }
        self.write_before(at, who, lane).or_else(|| atomic(self.updates.conflict(at, who, lane)))
    }

    /// Records a write of an element. Returns a conflicting access.
    pub(crate) fn write(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        let own = (who.group + 1) << 38 | who.time(WRITE_TIMES) << 11 | u64::from(lane);
        let old = self.writers.get(at)?.swap(own, SeqCst);
        conflict_with_write(old, who, lane)
            .or_else(|| self.read_before(at, who, lane))
            .or_else(|| atomic(self.updates.conflict(at, who, lane)))
            .or_else(|| atomic(self.atomic_loads.conflict(at, who, lane)))
    }

    /// Records an atomic update of an element. Returns a conflicting access.
    pub(crate) fn update(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.updates.record(at, who, lane);
        self.write_before(at, who, lane).or_else(|| self.read_before(at, who, lane))
    }

    /// Records an atomic load of an element. Returns a conflicting access.
    pub(crate) fn atomic_load(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.atomic_loads.record(at, who, lane);
        self.write_before(at, who, lane)
    }

    fn write_before(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.writers.get(at).and_then(|w| conflict_with_write(w.load(SeqCst), who, lane))
    }

    fn read_before(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.readers.conflict(at, who, lane).map(|(group, lane)| Conflict { access: Access::Read, group, lane })
    }
}

fn atomic(found: Option<(u64, u32)>) -> Option<Conflict> {
    found.map(|(group, lane)| Conflict { access: Access::Atomic, group, lane })
}

fn conflict_with_write(writer: u64, who: &Who<'_>, lane: u32) -> Option<Conflict> {
    let (group, then, other) = (writer >> 38, writer >> 11 & WRITE_TIMES, (writer & 0x7ff) as u32);
    let ordered = group == 0 || (group == who.group + 1 && who.is_ordered(then, other, lane));
    (!ordered).then(|| Conflict { access: Access::Write, group: group - 1, lane: clock::lane(other) })
}
