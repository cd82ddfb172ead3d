//! A workgroup's shared memory, and who accessed it.

use super::Conflict;
use super::clock::{self, Clock};
use crate::fault::Access;

/// Shared memory, in planes. The clock continues from workgroup to workgroup, so that the records need not be cleared in between.
#[derive(Debug)]
pub(crate) struct Shared<W> {
    words: Vec<W>,
    /// The last write of each plane: its time, and its lane (12 bits).
    writers: Vec<u64>,
    readers: Marks,
    /// Atomic updates and atomic loads of planes. Empty if the module has none.
    updates: Marks,
    atomic_loads: Marks,
}

/// The invocation that accesses memory: a lane of a workgroup, and the clock.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) lane: u32,
    pub(crate) group: u64,
}

/// For each plane, up to two invocations that accessed it in one way since the last barrier: the time, and two lanes (12 bits each). One
/// access by a whole subgroup suffices, because it conflicts with every lane's.
#[derive(Debug)]
struct Marks(Vec<u64>);

impl Marks {
    #[inline]
    fn record(&mut self, at: usize, who: Who<'_>) {
        let Some(mark) = self.0.get_mut(at) else { return };
        let (own, lane, old) = (who.clock.now() << 24, u64::from(who.lane), *mark);
        let two = old >> 12 & 0xfff != old & 0xfff;
        *mark = match old {
            _ if old >> 24 != who.clock.now() => own | lane << 12 | lane,
            _ if two || old & 0xfff == lane => old,
            _ => old & !0xfff | lane,
        };
    }

    #[inline]
    fn conflict(&self, at: usize, who: Who<'_>, access: Access) -> Option<Conflict> {
        let mark = *self.0.get(at)?;
        let lanes = [(mark >> 12 & 0xfff) as u32, (mark & 0xfff) as u32];
        let lane = lanes.into_iter().find(|other| !who.clock.is_ordered(mark >> 24, *other, who.lane))?;
        Some(Conflict { access, group: who.group, lane: clock::lane(lane) })
    }

    /// True if there was an access since the workgroup began.
    fn is_marked(&self, at: usize, clock: &Clock) -> bool {
        self.0.get(at).is_some_and(|mark| mark >> 24 >= clock.start())
    }
}

impl<W: Copy + Default> Shared<W> {
    pub(crate) fn new(planes: u32, atomics: bool) -> Shared<W> {
        let (count, atomic) = (planes as usize, if atomics { planes as usize } else { 0 });
        let marks = |count| Marks(vec![0; count]);
        let (readers, updates, atomic_loads) = (marks(count), marks(atomic), marks(atomic));
        Shared { words: vec![W::default(); count], writers: vec![0; count], readers, updates, atomic_loads }
    }

    #[inline]
    pub(crate) fn load(&self, at: usize) -> W {
        self.words[at]
    }

    /// True if it was written since the workgroup began.
    #[inline]
    pub(crate) fn is_written(&self, at: usize, clock: &Clock) -> bool {
        self.writers[at] >> 12 >= clock.start() || self.updates.is_marked(at, clock)
    }

    /// Records a read. Returns a conflicting access.
    #[inline]
    pub(crate) fn read(&mut self, at: usize, who: Who<'_>) -> Option<Conflict> {
        self.readers.record(at, who);
        self.write_before(at, who).or_else(|| self.updates.conflict(at, who, Access::Atomic))
    }

    /// Writes a plane. Returns a conflicting access.
    #[inline]
    pub(crate) fn write(&mut self, at: usize, value: W, who: Who<'_>) -> Option<Conflict> {
        let conflict = self.write_before(at, who);
        self.words[at] = value;
        self.writers[at] = who.clock.now() << 12 | u64::from(who.lane);
        conflict
            .or_else(|| self.readers.conflict(at, who, Access::Read))
            .or_else(|| self.updates.conflict(at, who, Access::Atomic))
            .or_else(|| self.atomic_loads.conflict(at, who, Access::Atomic))
    }

    /// Updates a plane by an atomic operation. Returns a conflicting access.
    pub(crate) fn update(&mut self, at: usize, value: W, who: Who<'_>) -> Option<Conflict> {
        self.updates.record(at, who);
        self.words[at] = value;
        self.write_before(at, who).or_else(|| self.readers.conflict(at, who, Access::Read))
    }

    /// Records an atomic load. Returns a conflicting access.
    pub(crate) fn atomic_load(&mut self, at: usize, who: Who<'_>) -> Option<Conflict> {
        self.atomic_loads.record(at, who);
        self.write_before(at, who)
    }

    #[inline]
    fn write_before(&self, at: usize, who: Who<'_>) -> Option<Conflict> {
        let writer = self.writers[at];
        let other = (writer & 0xfff) as u32;
        let ordered = who.clock.is_ordered(writer >> 12, other, who.lane);
        (!ordered).then_some(Conflict { access: Access::Write, group: who.group, lane: clock::lane(other) })
    }
}
