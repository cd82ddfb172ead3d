//! What the barriers on the ways from one place to another order: what stands before both parts of one with what stands behind both.

use crate::nest::{Node, NodeKind, Part, Scope};

/// How far it has come that an access is ordered with what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Come {
    /// It is made.
    Made,
    /// Its invocation has arrived since.
    Arrived,
    /// And has waited.
    Ordered,
}

/// What a barrier's parts on a way make of an access before it; of several ways, the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// Of one that is made.
    made: Come,
    /// Of one whose invocation has arrived.
    arrived: Come,
}

impl Way {
    const NONE: Way = Way { made: Come::Made, arrived: Come::Arrived };

    fn of(part: Part) -> Way {
        match part {
            Part::Arrive => Way { made: Come::Arrived, arrived: Come::Arrived },
            // An access behind the arrive is as it was.
            Part::Wait => Way { made: Come::Made, arrived: Come::Ordered },
            Part::Whole => Way { made: Come::Ordered, arrived: Come::Ordered },
        }
    }

    fn makes(self, come: Come) -> Come {
        match come {
            Come::Made => self.made,
            Come::Arrived => self.arrived,
            Come::Ordered => Come::Ordered,
        }
    }

    fn then(self, next: Way) -> Way {
        Way { made: next.makes(self.made), arrived: next.makes(self.arrived) }
    }
}

/// The ways from one place to another, by who waits on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ways {
    workgroup: Way,
    subgroup: Way,
}

impl Default for Ways {
    fn default() -> Ways {
        Ways { workgroup: Way::NONE, subgroup: Way::NONE }
    }
}

impl Ways {
    /// Past a leaf.
    pub(super) fn of(leaf: &Node) -> Ways {
        let mut ways = Ways::default();
        match leaf.kind {
            NodeKind::Barrier { scope: Scope::Workgroup, part } => ways.workgroup = Way::of(part),
            NodeKind::Barrier { scope: Scope::Subgroup, part } => ways.subgroup = Way::of(part),
            _ => {}
        }
        ways
    }

    pub(super) fn then(self, next: Ways) -> Ways {
        Ways { workgroup: self.workgroup.then(next.workgroup), subgroup: self.subgroup.then(next.subgroup) }
    }

    /// Whether the invocations of a workgroup wait for each other on each.
    pub(super) fn is_ordered(self) -> bool {
        self.workgroup.made == Come::Ordered
    }

    /// Whether those of a subgroup do.
    pub(super) fn is_fenced(self) -> bool {
        self.subgroup.made == Come::Ordered
    }
}
