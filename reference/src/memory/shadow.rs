//! Who accessed each element of a buffer during a dispatch.
//!
//! Each element has its last writer, and a [`Trail`] of its readers. Where a module has atomic operations, it has one of
//! those that update it and one of those that only load it: atomic accesses conflict with plain ones, not with each other.
//! What has to be stored before others are looked at is stored before, so that of two threads at least one sees the other.

use super::Conflict;
use super::trail::{Trail, Who};
use super::{clock, zeros};
use crate::fault::Access;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The accesses to a buffer's elements.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Workgroup + 1 (26 bits), time (27), lane (11, with whether all of its subgroup did it). 0 is nobody.
    writers: Box<[AtomicU64]>,
    readers: Trail,
    /// Empty if the module has no atomic operations.
    updates: Trail,
    atomic_loads: Trail,
    /// Bytes of an element.
    pub(crate) element: u32,
}

/// Workgroups that can be told apart.
pub(crate) const MOST_GROUPS: u64 = (1 << 26) - 2;
const WRITE_TIMES: u64 = (1 << 27) - 1;

impl Shadow {
    /// Of a buffer of so many elements; `None` if there is no memory for it.
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

    /// An invocation reads an element.
    pub(crate) fn read(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.readers.record(at, who, clock::lane(lane));
        if lane != clock::lane(lane) {
            // Two lanes of the subgroup, so that it conflicts with each.
            self.readers.record(at, who, who.clock.neighbour(clock::lane(lane)));
        }
        self.write_before(at, who, lane).or_else(|| atomic(self.updates.conflict(at, who, lane)))
    }

    /// An invocation writes an element.
    pub(crate) fn write(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        let own = (who.group + 1) << 38 | who.time(WRITE_TIMES) << 11 | u64::from(lane);
        let old = self.writers.get(at)?.swap(own, SeqCst);
        conflict_with_write(old, who, lane)
            .or_else(|| self.read_before(at, who, lane))
            .or_else(|| atomic(self.updates.conflict(at, who, lane)))
            .or_else(|| atomic(self.atomic_loads.conflict(at, who, lane)))
    }

    /// An invocation changes an element by an atomic operation.
    pub(crate) fn update(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        self.updates.record(at, who, lane);
        self.write_before(at, who, lane).or_else(|| self.read_before(at, who, lane))
    }

    /// An invocation loads an element by an atomic operation.
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
