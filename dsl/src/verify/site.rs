//! The leaves of a dispatch, each with its enclosing nodes and its accesses. All checks work on these.

use crate::diag::SpanId;
use crate::expr::{ExprId, Outside};
use crate::nest::{Access, Accessor, AxisId, Block, BufferId, Dispatch, Exec, Loop, Node, NodeKind, Phase, Pred, Program};

/// A leaf with its enclosing nodes and its accesses.
#[derive(Debug)]
pub(super) struct Site<'p> {
    /// The leaf itself.
    pub(super) node: &'p Node,
    /// The enclosing nodes, outermost first.
    pub(super) around: Vec<Around<'p>>,
    /// Its position in its block.
    pub(super) place: usize,
    /// The elements that it reads and writes.
    pub(super) touches: Vec<SiteAccess>,
}

/// A node around a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'p> {
    pub(super) node: &'p Node,
    /// Its position in its block.
    pub(super) place: usize,
}

/// An access of memory.
#[derive(Clone, Debug)]
pub(super) struct SiteAccess {
    pub(super) buffer: BufferId,
    /// The indices, over all axes.
    pub(super) index: Vec<ExprId>,
    pub(super) writes: bool,
    pub(super) outside: Outside,
    pub(super) role: Role,
}

/// The purpose of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An ordinary read or write.
    Plain,
    /// Writes the identity into an accumulator.
    Init,
    /// Reads and writes an accumulator.
    Update,
    /// Reads an accumulator to compute the result.
    Finish,
}

/// Collects the leaves of a dispatch in order.
pub(super) fn collect<'p>(dispatch: &'p Dispatch, program: &'p Program) -> Vec<Site<'p>> {
    let mut walk = SiteWalk { program, around: Vec::new(), sites: Vec::new() };
    walk.block(&dispatch.body, None);
    walk.sites
}

struct SiteWalk<'p> {
    program: &'p Program,
    around: Vec<Around<'p>>,
    sites: Vec<Site<'p>>,
}

impl<'p> SiteWalk<'p> {
    /// Collects the leaves of a block. `of` is the node that contains it.
    fn block(&mut self, block: &'p Block, of: Option<Around<'p>>) {
        self.around.extend(of);
        for (place, node) in block.iter().enumerate() {
            match &node.kind {
                NodeKind::Loop(Loop { body, .. }) | NodeKind::Alloc { body, .. } => self.block(body, Some(Around { node, place })),
                _ => {
                    let site = self.leaf(node, place);
                    self.sites.push(site);
                }
            }
        }
        if of.is_some() {
            self.around.pop();
        }
    }

    fn leaf(&mut self, node: &'p Node, place: usize) -> Site<'p> {
        let touches = node.accesses(&self.program.exprs).into_iter().filter_map(|access| {
            let (writes, role) = (access.writes(), Role::of(node, access.by)?);
            let (Access { buffer, index }, outside) = (access.place, access.outside);
            Some(SiteAccess { buffer, index, writes, outside, role })
        });
        Site { node, around: self.around.clone(), place, touches: touches.collect() }
    }
}

impl Role {
    /// Returns the purpose of an access by a part of a node. `None` for the value that a whole reduction stores, which is checked after
    /// lowering.
    fn of(node: &Node, by: Accessor) -> Option<Role> {
        let phase = if let NodeKind::Compute(compute) = &node.kind { Some(compute.phase) } else { None };
        match (by, phase) {
            (Accessor::Finish, _) => None,
            (Accessor::Partial, _) | (Accessor::Value, Some(Phase::Finish)) => Some(Role::Finish),
            (Accessor::Store, Some(Phase::Init | Phase::Resume)) => Some(Role::Init),
            (Accessor::Store, Some(Phase::Update | Phase::Atomic)) => Some(Role::Update),
            _ => Some(Role::Plain),
        }
    }
}

impl<'p> Site<'p> {
    /// Returns the enclosing loops, outermost first.
    pub(super) fn loops(&self) -> impl DoubleEndedIterator<Item = &'p Loop> {
        self.around.iter().filter_map(|around| match &around.node.kind {
            NodeKind::Loop(looped) => Some(looped),
            _ => None,
        })
    }

    /// Returns the enclosing loops from a depth on, outermost first.
    pub(super) fn loops_from(&self, depth: usize) -> impl DoubleEndedIterator<Item = &'p Loop> {
        self.around[depth.min(self.around.len())..].iter().filter_map(|around| match &around.node.kind {
            NodeKind::Loop(looped) => Some(looped),
            _ => None,
        })
    }

    /// Returns how the loop over an axis is executed, if there is one.
    pub(super) fn exec(&self, axis: AxisId) -> Option<Exec> {
        self.loops().find(|looped| looped.axis == axis).map(|looped| looped.exec)
    }

    /// True if the leaf computes with matrices, which a whole subgroup holds.
    pub(super) fn is_matrix(&self) -> bool {
        self.loops().any(|looped| matches!(looped.exec, Exec::Matrix(_)))
    }

    /// True if an enclosing loop binds the axis.
    pub(super) fn binds(&self, axis: AxisId) -> bool {
        self.exec(axis).is_some()
    }

    /// Returns the depth of the innermost scope of a buffer.
    pub(super) fn life(&self, buffer: BufferId) -> Option<usize> {
        self.around.iter().rposition(|around| matches!(&around.node.kind, NodeKind::Alloc { buffer: b, .. } if *b == buffer))
    }

    /// Returns the predicates of a compute or of an all-reduce with atomics.
    pub(super) fn preds(&self) -> &'p [Pred] {
        match &self.node.kind {
            NodeKind::Compute(compute) => &compute.preds,
            NodeKind::AllReduce(reduction) => &reduction.preds,
            _ => &[],
        }
    }

    /// Returns the expressions that the leaf evaluates.
    pub(super) fn exprs(&self) -> Vec<ExprId> {
        let own = match &self.node.kind {
            NodeKind::Compute(compute) => compute.value.clone(),
            _ => Vec::new(),
        };
        own.into_iter().chain(self.touches.iter().flat_map(|touch| touch.index.clone())).collect()
    }

    /// Returns the number of nodes that enclose both leaves.
    pub(super) fn common(&self, other: &Site<'_>) -> usize {
        let same = |(a, b): &(&Around<'_>, &Around<'_>)| std::ptr::eq(a.node, b.node);
        self.around.iter().zip(&other.around).take_while(same).count()
    }

    /// True if the leaf runs before the other one, within one iteration of the loops around both.
    pub(super) fn is_before(&self, other: &Site<'_>) -> bool {
        let depth = self.common(other);
        let place = |site: &Site<'_>| site.around.get(depth).map_or(site.place, |around| around.place);
        place(self) < place(other)
    }

    /// Returns the span of the directive that made the leaf.
    pub(super) fn span(&self) -> SpanId {
        self.node.span
    }
}
