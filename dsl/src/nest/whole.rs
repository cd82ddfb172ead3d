//! Whole barriers in the place of those in parts, for devices that have no others.

use super::{Block, Dispatch, Exec, Node, NodeKind, Part, Scope};

impl Dispatch {
    /// The same with whole barriers alone.
    ///
    /// Anywhere between arrive and wait, a whole barrier orders what stands before the arrive and what stands behind the wait. It stands
    /// at the first barrier of subgroups between them on the straight line, whose place it takes, as it orders what that does; without one,
    /// at the wait. There lowering has placed it before it moved the parts from there: when drivers run memory accesses depends on their place
    /// beside barriers.
    #[must_use]
    pub fn with_whole_barriers(&self) -> Dispatch {
        let mut dispatch = self.clone();
        Walk::default().block(&mut dispatch.body);
        dispatch
    }
}

#[derive(Default)]
struct Walk {
    /// An arrive before, on the straight line, that nobody has waited for; and whether its whole barrier stands already.
    arrived: Option<bool>,
    /// How many parts were met.
    parts: usize,
}

impl Walk {
    fn block(&mut self, block: &mut Block) {
        block.retain_mut(|node| self.stays(node));
    }

    fn stays(&mut self, node: &mut Node) -> bool {
        match &mut node.kind {
            NodeKind::Loop(looped) if matches!(looped.exec, Exec::Bind(..)) => self.block(&mut looped.body),
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Barrier { scope, part } => return self.barrier(scope, part),
            _ => node.blocks_mut().for_each(|inner| self.aside(inner)),
        }
        true
    }

    /// A block that runs several times, or may not run: what arrives before it and waits in it, or the other way round, waits at the wait.
    fn aside(&mut self, block: &mut Block) {
        let (arrived, parts) = (self.arrived.take(), self.parts);
        self.block(block);
        self.arrived = arrived.filter(|_| parts == self.parts);
    }

    fn barrier(&mut self, scope: &mut Scope, part: &mut Part) -> bool {
        match (*scope, *part) {
            (Scope::Workgroup, Part::Arrive) => self.arrived = Some(false),
            (Scope::Workgroup, Part::Wait) => {
                self.parts += 1;
                *part = Part::Whole;
                return self.arrived.take() != Some(true);
            }
            (Scope::Subgroup, Part::Whole) if self.arrived == Some(false) => {
                self.arrived = Some(true);
                *scope = Scope::Workgroup;
            }
            (_, Part::Wait) => *part = Part::Whole,
            _ => {}
        }
        self.parts += usize::from(*part == Part::Arrive);
        *part != Part::Arrive
    }
}
