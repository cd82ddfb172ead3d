//! Who accessed each element of a buffer during a dispatch.
//!
//! Each element has its last writer, two readers of the workgroup that read it first, and one of another workgroup. Two
//! readers are enough: of two, one is not the writer. What has to be stored before others are looked at is stored before,
//! so that of two threads at least one sees the other.

use super::Conflict;
use super::clock::Clock;
use super::zeros::Atomic;
use crate::fault::Access;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The accesses to a buffer's elements. 0 is nobody.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Workgroup + 1 (26 bits), time (28), lane (10).
    writers: Box<[AtomicU64]>,
    /// Workgroup + 1 (26 bits), time (18), two lanes (10 each). Empty if the dispatch does not read the buffer.
    readers: Box<[AtomicU64]>,
    /// Workgroup + 1, lane (10 bits).
    others: Box<[AtomicU64]>,
    /// Bytes of an element.
    pub(crate) element: u32,
}

/// Workgroups that can be told apart.
pub(crate) const MOST_GROUPS: u64 = (1 << 26) - 2;
const WRITE_TIMES: u64 = (1 << 28) - 1;
const READ_TIMES: u64 = (1 << 18) - 1;

/// Who accesses: a workgroup's number, its clock.
pub(crate) struct Who<'a> {
    pub(crate) group: u64,
    pub(crate) clock: &'a Clock,
}

impl Who<'_> {
    /// The time since the workgroup began, as it is kept: beyond what fits, everything counts as ordered in the end.
    fn time(&self, most: u64) -> u64 {
        (self.clock.now() - self.clock.start()).min(most)
    }

    fn is_ordered(&self, then: u64, other: u32, own: u32) -> bool {
        self.clock.is_ordered(then + self.clock.start(), other, own)
    }
}

impl Shadow {
    /// Of a buffer of so many elements; `None` if there is no memory for it.
    pub(crate) fn new(elements: u64, element: u32, reads: bool) -> Option<Shadow> {
        let (count, read) = (usize::try_from(elements).ok()?, usize::try_from(if reads { elements } else { 0 }).ok()?);
        Some(Shadow {
            writers: AtomicU64::zeros(count)?,
            readers: AtomicU64::zeros(read)?,
            others: AtomicU64::zeros(read)?,
            element,
        })
    }

    /// An invocation reads an element.
    pub(crate) fn read(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        if let (Some(reader), Some(other)) = (self.readers.get(at), self.others.get(at)) {
            let own = (who.group + 1) << 38 | who.time(READ_TIMES) << 20;
            let new = own | u64::from(lane) << 10 | u64::from(lane);
            let old = reader.load(SeqCst);
            let next = match old {
                _ if old >> 38 != 0 && old >> 38 != who.group + 1 => None,
                _ if old >> 20 != own >> 20 => Some(new),
                _ if has(old, lane) || (old >> 10 & 0x3ff) != (old & 0x3ff) => Some(old),
                _ => Some(old & !0x3ff | u64::from(lane)),
            };
            let kept = next.is_some_and(|next| next == old || reader.compare_exchange(old, next, SeqCst, SeqCst).is_ok());
            if !kept {
                other.store((who.group + 1) << 10 | u64::from(lane), SeqCst);
            }
        }
        self.writers.get(at).and_then(|w| conflict_with_write(w.load(SeqCst), who, lane))
    }

    /// An invocation writes an element.
    pub(crate) fn write(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        let own = (who.group + 1) << 38 | who.time(WRITE_TIMES) << 10 | u64::from(lane);
        let old = self.writers.get(at)?.swap(own, SeqCst);
        conflict_with_write(old, who, lane).or_else(|| self.conflict_with_reads(at, who, lane))
    }

    fn conflict_with_reads(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<Conflict> {
        let reader = self.readers.get(at)?.load(SeqCst);
        let found = |group: u64, lane: u64| Some(Conflict { access: Access::Read, group: group - 1, lane: (lane & 0x3ff) as u32 });
        let group = reader >> 38;
        if group != 0 && group != who.group + 1 {
            return found(group, reader >> 10);
        }
        for other in [reader >> 10, reader] {
            if group != 0 && !who.is_ordered(reader >> 20 & READ_TIMES, (other & 0x3ff) as u32, lane) {
                return found(group, other);
            }
        }
        let other = self.others.get(at)?.load(SeqCst);
        if other != 0 && other >> 10 != who.group + 1 { found(other >> 10, other) } else { None }
    }
}

fn has(reader: u64, lane: u32) -> bool {
    reader >> 10 & 0x3ff == u64::from(lane) || reader & 0x3ff == u64::from(lane)
}

fn conflict_with_write(writer: u64, who: &Who<'_>, lane: u32) -> Option<Conflict> {
    let (group, then, other) = (writer >> 38, writer >> 10 & WRITE_TIMES, (writer & 0x3ff) as u32);
    let ordered = group == 0 || (group == who.group + 1 && who.is_ordered(then, other, lane));
    (!ordered).then(|| Conflict { access: Access::Write, group: group - 1, lane: other })
}
