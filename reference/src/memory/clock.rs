//! Which accesses of a workgroup barriers have put in order.
//!
//! The clock goes on at each barrier. An access is ordered before one that comes now if a barrier of the workgroup came in
//! between, or one of the subgroup that both belong to.

/// Added to the number of a lane whose access is one of its subgroup's together: nothing but a barrier orders it with others, be they of the
/// same lane.
pub(crate) const COOPERATIVE: u32 = 1 << 10;

/// The number of a lane, without that.
pub(crate) fn lane(of: u32) -> u32 {
    of & (COOPERATIVE - 1)
}

/// The clock of a workgroup for one kind of memory.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    now: u64,
    /// When the workgroup began.
    start: u64,
    /// When its last barrier was.
    group: u64,
    /// And that of each subgroup.
    subgroups: Vec<u64>,
    /// Invocations of a subgroup.
    size: u32,
}

impl Clock {
    pub(crate) fn new(lanes: u32, size: u32) -> Clock {
        let size = size.max(1);
        Clock { now: 0, start: 0, group: 0, subgroups: vec![0; lanes.div_ceil(size) as usize], size }
    }

    /// A workgroup begins.
    pub(crate) fn begin(&mut self) {
        self.barrier();
        self.start = self.now;
    }

    /// A barrier of the workgroup.
    pub(crate) fn barrier(&mut self) {
        self.now += 1;
        self.group = self.now;
    }

    /// A barrier of the subgroup that an invocation belongs to.
    pub(crate) fn subgroup_barrier(&mut self, subgroup: u32) {
        self.now += 1;
        if let Some(last) = self.subgroups.get_mut(subgroup as usize) {
            *last = self.now;
        }
    }

    /// Another lane of a lane's subgroup, if there is one.
    pub(crate) fn neighbour(&self, lane: u32) -> u32 {
        let first = lane / self.size * self.size;
        first + (lane - first + 1) % self.size
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// When the workgroup at hand began.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Whether what `other` did then comes before what `own` does now.
    #[inline]
    pub(crate) fn is_ordered(&self, then: u64, other: u32, own: u32) -> bool {
        (other == own && own < COOPERATIVE) || then < self.group || self.in_subgroup(then, lane(other), lane(own))
    }

    fn in_subgroup(&self, then: u64, other: u32, own: u32) -> bool {
        let of = |lane: u32| lane / self.size;
        of(other) == of(own) && self.subgroups.get(of(own) as usize).is_some_and(|last| then < *last)
    }
}
