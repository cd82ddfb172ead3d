//! Records which accesses of a workgroup barriers have ordered.
//!
//! The clock advances at each barrier. An earlier access is ordered before a current one if a barrier of the workgroup, or a barrier of the
//! subgroup that both belong to, was executed in between.

/// Added to the number of a lane whose access is performed by its whole subgroup together. Only a barrier orders such an access with
/// others, even in the same lane.
pub(crate) const COOPERATIVE: u32 = 1 << 10;

/// Returns the number of a lane without this flag.
pub(crate) fn lane(of: u32) -> u32 {
    of & (COOPERATIVE - 1)
}

/// The clock of a workgroup for one kind of memory.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    now: u64,
    /// The time at which the workgroup began.
    start: u64,
    /// The time of its last barrier.
    group: u64,
    /// The time of the last barrier of each subgroup.
    subgroups: Vec<u64>,
    /// The number of invocations of a subgroup.
    size: u32,
}

impl Clock {
    pub(crate) fn new(lanes: u32, size: u32) -> Clock {
        let size = size.max(1);
        Clock { now: 0, start: 0, group: 0, subgroups: vec![0; lanes.div_ceil(size) as usize], size }
    }

    /// Starts a workgroup.
    pub(crate) fn begin(&mut self) {
        self.barrier();
        self.start = self.now;
    }

    /// Records a barrier of the workgroup.
    pub(crate) fn barrier(&mut self) {
        self.now += 1;
        self.group = self.now;
    }

    /// Records a barrier of one subgroup.
    pub(crate) fn subgroup_barrier(&mut self, subgroup: u32) {
        self.now += 1;
        if let Some(last) = self.subgroups.get_mut(subgroup as usize) {
            *last = self.now;
        }
    }

    /// Returns another lane of a lane's subgroup, if there is one.
    pub(crate) fn neighbour(&self, lane: u32) -> u32 {
        let first = lane / self.size * self.size;
        first + (lane - first + 1) % self.size
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The time at which the current workgroup began.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// True if an access of `other` at time `then` is ordered before a current access of `own`.
    #[inline]
    pub(crate) fn is_ordered(&self, then: u64, other: u32, own: u32) -> bool {
        (other == own && own < COOPERATIVE) || then < self.group || self.in_subgroup(then, lane(other), lane(own))
    }

    fn in_subgroup(&self, then: u64, other: u32, own: u32) -> bool {
        let of = |lane: u32| lane / self.size;
        of(other) == of(own) && self.subgroups.get(of(own) as usize).is_some_and(|last| then < *last)
    }
}
