//! Barriers in parts: an arrive has one wait on each path behind it and a wait one arrive on each path to it, and nothing of that scope
//! stands between the two: neither another arrive, nor a whole barrier, nor a reduction that has some.
//!
//! So on every path parts take turns. A loop's body, which may run any number of times, leaves it as it was whose turn it is; it may wait for
//! what has arrived before it and arrive for what waits behind it.

use super::Rule;
use super::context::Checks;
use crate::nest::{Block, Exec, Node, NodeKind, Part, Scope};

/// The last arrives, if nobody has waited since: of the workgroup, and of the subgroup.
type Arrived<'n> = [Option<&'n Node>; 2];

impl Checks<'_> {
    /// All of it.
    pub(super) fn parts(&self) {
        let left = self.parts_in(&self.dispatch.body, [None; 2]);
        left.into_iter().flatten().for_each(|arrive| self.unpaired(arrive, "and nothing waits for it"));
    }

    fn parts_in<'n>(&self, block: &'n Block, mut arrived: Arrived<'n>) -> Arrived<'n> {
        for node in block {
            match &node.kind {
                NodeKind::Loop(looped) => {
                    let behind = self.parts_in(&looped.body, arrived);
                    // Each invocation runs its own iteration of a bound loop.
                    if !matches!(looped.exec, Exec::Bind(..)) {
                        self.same_turn(node, arrived, behind);
                    }
                    arrived = behind;
                }
                NodeKind::Alloc { body, .. } => arrived = self.parts_in(body, arrived),
                NodeKind::Barrier { scope, part } => {
                    let Some(turn) = of(*scope).map(|at| &mut arrived[at]) else { continue };
                    match (part, turn.is_some()) {
                        (Part::Wait, false) => self.unpaired(node, "and nothing has arrived before"),
                        (Part::Arrive | Part::Whole, true) => self.unpaired(node, "and the last arrive is not waited for"),
                        _ => {}
                    }
                    *turn = Some(node).filter(|_| *part == Part::Arrive);
                }
                NodeKind::AllReduce(reduction) if of(reduction.scope).is_some_and(|at| arrived[at].is_some()) => {
                    self.unpaired(node, "and the last arrive is not waited for");
                }
                _ => {}
            }
        }
        arrived
    }

    /// A loop leaves it as it was.
    fn same_turn(&self, node: &Node, before: Arrived<'_>, behind: Arrived<'_>) {
        for (before, behind) in before.into_iter().zip(behind) {
            match (before, behind) {
                (None, Some(arrive)) => self.unpaired(arrive, "and the loop around may end before anything waits for it"),
                (Some(_), None) => self.unpaired(node, "and what has arrived before may be waited for in each iteration, or none"),
                _ => {}
            }
        }
    }

    fn unpaired(&self, node: &Node, why: &str) {
        self.refuse(Rule::Parts, node.span, format!("`{}`, {why}", self.printer.line(node)));
    }
}

fn of(scope: Scope) -> Option<usize> {
    match scope {
        Scope::Workgroup => Some(0),
        Scope::Subgroup => Some(1),
        Scope::Invocation | Scope::Device => None,
    }
}
