//! Records who accessed the elements of a buffer in one way, such as by reading. It keeps enough accesses to find every
//! conflict.
//!
//! For each element, it keeps the first two invocations of one workgroup since its last barrier, and one invocation of
//! another workgroup. Two suffice, because at least one of two differs from the invocation that searches for conflicts.
//! A later access in the same workgroup replaces those that a barrier has ordered before it.

use super::clock::{COOPERATIVE, Clock};
use super::zeros;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The accesses of a kind to a buffer's elements. 0 means that it was never accessed.
#[derive(Debug)]
pub(crate) struct Trail {
    /// Workgroup + 1 (26 bits), time (18), two lanes (10 each).
    first: Box<[AtomicU64]>,
    /// Workgroup + 1, lane (10 bits).
    others: Box<[AtomicU64]>,
}

const TIMES: u64 = (1 << 18) - 1;

/// The workgroup of an access: its number and its clock.
pub(crate) struct Who<'a> {
    pub(crate) group: u64,
    pub(crate) clock: &'a Clock,
    /// True if no barrier orders the access with others, because its instruction does not make it visible.
    pub(crate) private: bool,
}

impl Who<'_> {
    /// Returns the time since the workgroup began as it is recorded. Times that do not fit are recorded as the largest
    /// one, so that they eventually count as ordered.
    pub(super) fn time(&self, most: u64) -> u64 {
        if self.private { most } else { (self.clock.now() - self.clock.start()).min(most) }
    }

    pub(super) fn is_ordered(&self, then: u64, other: u32, own: u32) -> bool {
        (other == own && own < COOPERATIVE) || (!self.private && self.clock.is_ordered(then + self.clock.start(), other, own))
    }
}

impl Trail {
    /// Creates the record for this many elements. Returns `None` if there is not enough memory.
    pub(crate) fn new(elements: usize) -> Option<Trail> {
        Some(Trail { first: zeros(elements)?, others: zeros(elements)? })
    }

    /// Records an access to an element.
    pub(super) fn record(&self, at: usize, who: &Who<'_>, lane: u32) {
        let (Some(first), Some(other)) = (self.first.get(at), self.others.get(at)) else { return };
        let own = (who.group + 1) << 38 | who.time(TIMES) << 20;
        let new = own | u64::from(lane) << 10 | u64::from(lane);
        let old = first.load(SeqCst);
        let next = match old {
            _ if old >> 38 != 0 && old >> 38 != who.group + 1 => None,
            _ if old >> 20 != own >> 20 => Some(new),
            _ if has(old, lane) || (old >> 10 & 0x3ff) != (old & 0x3ff) => Some(old),
            _ => Some(old & !0x3ff | u64::from(lane)),
        };
        let kept = next.is_some_and(|next| next == old || first.compare_exchange(old, next, SeqCst, SeqCst).is_ok());
        if !kept {
            other.store((who.group + 1) << 10 | u64::from(lane), SeqCst);
        }
    }

    /// Returns the workgroup and lane of an earlier access to an element that is not ordered with the current one.
    pub(super) fn conflict(&self, at: usize, who: &Who<'_>, lane: u32) -> Option<(u64, u32)> {
        let first = self.first.get(at)?.load(SeqCst);
        let found = |group: u64, lane: u64| Some((group - 1, (lane & 0x3ff) as u32));
        let group = first >> 38;
        if group != 0 && group != who.group + 1 {
            return found(group, first >> 10);
        }
        for other in [first >> 10, first] {
            if group != 0 && !who.is_ordered(first >> 20 & TIMES, (other & 0x3ff) as u32, lane) {
                return found(group, other);
            }
        }
        let other = self.others.get(at)?.load(SeqCst);
        if other != 0 && other >> 10 != who.group + 1 { found(other >> 10, other) } else { None }
    }
}

fn has(first: u64, lane: u32) -> bool {
    first >> 10 & 0x3ff == u64::from(lane) || first & 0x3ff == u64::from(lane)
}
