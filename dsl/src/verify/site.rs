//! The leaves of a dispatch, each with its enclosing nodes and its accesses. All checks work on these.

use crate::diag::SpanId;
use crate::expr::{ExprId, Outside};
use crate::nest::{Access, AxisId, Block, Body, BufferId, Dispatch, Exec, Loop, Node, NodeKind, Phase, Pred, Program, StageId};
use std::collections::HashSet;

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
        let mut site = Site { node, around: self.around.clone(), place, touches: Vec::new() };
        match &node.kind {
            NodeKind::Compute(compute) => {
                // The value that a whole reduction stores is checked after lowering.
                site.reads(self.program, &compute.value, Role::of_reads(compute.phase));
                for (n, dst) in compute.dst.iter().enumerate() {
                    site.reads(self.program, &dst.index, Role::Plain);
                    if n >= compute.given {
                        site.touch(self.program, dst, true, Role::of_writes(self.program, compute.stage, compute.phase));
                    } else if compute.phase != Phase::Init {
                        site.touch(self.program, dst, false, Role::Plain);
                    }
                }
            }
            NodeKind::AllReduce(reduction) => {
                reduction.src.iter().for_each(|src| site.touch(self.program, src, false, Role::Finish));
                reduction.dst.iter().for_each(|dst| site.touch(self.program, dst, true, Role::Plain));
            }
            _ => {}
        }
        site
    }
}

impl Role {
    fn of_reads(phase: Phase) -> Role {
        if phase == Phase::Finish { Role::Finish } else { Role::Plain }
    }

    fn of_writes(program: &Program, stage: StageId, phase: Phase) -> Role {
        match phase {
            Phase::Init | Phase::Resume => Role::Init,
            Phase::Update => Role::Update,
            Phase::Whole if matches!(program.stages[stage].body, Body::Map(_)) => Role::Plain,
            Phase::Whole | Phase::Finish => Role::Plain,
        }
    }
}

impl<'p> Site<'p> {
    /// Adds every read in some expressions.
    fn reads(&mut self, program: &Program, exprs: &[ExprId], role: Role) {
        let mut seen = HashSet::new();
        for read in exprs.iter().flat_map(|e| program.exprs.reads(*e)) {
            if seen.insert(read.clone()) {
                let (index, outside) = (read.index.to_vec(), read.outside);
                self.touches.push(SiteAccess { buffer: read.buffer, index, writes: false, outside, role });
            }
        }
    }

    fn touch(&mut self, _: &Program, access: &Access, writes: bool, role: Role) {
        let (index, outside) = (access.index.clone(), Outside::Never);
        self.touches.push(SiteAccess { buffer: access.buffer, index, writes, outside, role });
    }

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
