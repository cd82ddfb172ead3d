//! A workgroup's shared memory, and who accessed it.

use super::Conflict;
use super::clock::Clock;
use crate::fault::Access;

/// Shared memory, in planes. Times go on from workgroup to workgroup, so that nothing has to be cleared in between.
#[derive(Debug)]
pub(crate) struct Shared {
    words: Vec<u32>,
    /// Time, lane (12 bits).
    writers: Vec<u64>,
    /// Time, two lanes (12 bits each).
    readers: Vec<u64>,
}

impl Shared {
    pub(crate) fn new(planes: u32) -> Shared {
        let count = planes as usize;
        Shared { words: vec![0; count], writers: vec![0; count], readers: vec![0; count] }
    }

    #[inline]
    pub(crate) fn load(&self, at: usize) -> u32 {
        self.words[at]
    }

    /// Whether anything has written it since the workgroup began.
    #[inline]
    pub(crate) fn is_written(&self, at: usize, clock: &Clock) -> bool {
        self.writers[at] >> 12 >= clock.start()
    }

    /// An invocation reads.
    #[inline]
    pub(crate) fn read(&mut self, at: usize, clock: &Clock, lane: u32, group: u64) -> Option<Conflict> {
        let (own, lane_bits) = (clock.now() << 24, u64::from(lane));
        let old = self.readers[at];
        let two = old >> 12 & 0xfff != old & 0xfff;
        self.readers[at] = match old {
            _ if old >> 24 != clock.now() => own | lane_bits << 12 | lane_bits,
            _ if two || old & 0xfff == lane_bits => old,
            _ => old & !0xfff | lane_bits,
        };
        self.conflict_with_write(at, clock, lane, group)
    }

    /// An invocation writes.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, value: u32, clock: &Clock, lane: u32, group: u64) -> Option<Conflict> {
        let conflict = self.conflict_with_write(at, clock, lane, group);
        self.words[at] = value;
        self.writers[at] = clock.now() << 12 | u64::from(lane);
        if conflict.is_some() {
            return conflict;
        }
        let reader = self.readers[at];
        let lanes = [(reader >> 12 & 0xfff) as u32, (reader & 0xfff) as u32];
        let other = lanes.into_iter().find(|other| !clock.is_ordered(reader >> 24, *other, lane))?;
        Some(Conflict { access: Access::Read, group, lane: other })
    }

    #[inline]
    fn conflict_with_write(&self, at: usize, clock: &Clock, lane: u32, group: u64) -> Option<Conflict> {
        let writer = self.writers[at];
        let other = (writer & 0xfff) as u32;
        (!clock.is_ordered(writer >> 12, other, lane)).then_some(Conflict { access: Access::Write, group, lane: other })
    }
}
