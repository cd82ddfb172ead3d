//! Barriers in parts: in the steps of pipelines, the arrive stands as early as the last access that the barrier orders lets it, and what
//! stands between it and the wait runs while others arrive.
//!
//! The wait stays where the whole barrier was placed: as late as it can, but for hints, by which a schedule says what stands behind it. What
//! each subgroup has to itself needs no wait for others, and lets both parts pass; where the barrier ordered that too, a barrier of
//! subgroups takes its place, and the wait goes on from there to what needs it:
//!
//! ```text
//! write v_s            write v_s
//! write s, of each     arrive at the barrier of the workgroup
//! barrier        ──▶   write s, of each
//! read s, of each      barrier of the subgroup
//! read v_s             read s, of each
//!                      wait at the barrier of the workgroup
//!                      read v_s
//! ```
//!
//! Either way [`Dispatch::with_whole_barriers`] finds the place where the barrier stood. No parts go from one iteration to the next: the whole
//! barriers in their place would be one more before the loop, or behind it.

use super::{After, Ends, Owner, Place, Touch, meet};
use crate::diag::SpanId;
use crate::expr::ExprId;
use crate::nest::{Block, BufferId, Dispatch, Exec, Loop, Node, NodeKind, Part, Program, Scope, walk};
use std::collections::{BTreeMap, BTreeSet};

/// Moves apart the barriers in the steps of a dispatch's pipelines.
pub(super) fn run(place: &Place<'_>, dispatch: &mut Dispatch) {
    if place.program.pipelines.is_empty() {
        return;
    }
    let before = cfg!(debug_assertions).then(|| dispatch.clone());
    let apart = Apart { place, owners: place.owners(&dispatch.body), in_place: in_place(place.program, &dispatch.body) };
    apart.steps(&mut dispatch.body);
    debug_assert!(before.is_none_or(|before| dispatch.with_whole_barriers() == before), "barriers have other places");
}

struct Apart<'a, 'p> {
    place: &'a Place<'p>,
    /// The subgroup that has an element to itself, of each shared buffer of which it is the same in all accesses.
    owners: BTreeMap<BufferId, Option<Owner>>,
    /// Device memory that the dispatch reads and writes: some barriers are there for it.
    in_place: BTreeSet<BufferId>,
}

impl Apart<'_, '_> {
    fn steps(&self, block: &mut Block) {
        for node in block {
            let depth = self.place.enter(node);
            match &mut node.kind {
                NodeKind::Loop(looped) if self.is_step(looped) => {
                    self.in_step(&mut looped.body, &Ends { open: true, ..Ends::default() });
                }
                _ => {}
            }
            node.blocks_mut().for_each(|inner| self.steps(inner));
            self.place.leave(depth);
        }
    }

    fn is_step(&self, looped: &Loop) -> bool {
        looped.exec == Exec::Serial && self.place.program.pipelines.iter().any(|pipeline| pipeline.axis == looped.axis)
    }

    /// The barriers on the straight line of a step, the last one first. `behind` is what follows the block, up to a barrier or (if it is
    /// open) the end of the step.
    fn in_step(&self, block: &mut Block, behind: &Ends) {
        let mut follows = behind.clone();
        let mut at = block.len();
        while at > 0 {
            at -= 1;
            match &mut block[at].kind {
                NodeKind::Barrier { scope: Scope::Workgroup, part: Part::Whole } => {
                    at = self.part(block, at, &follows);
                    follows = Ends::default();
                    continue;
                }
                NodeKind::Alloc { body, .. } => self.in_step(body, &follows),
                _ => {}
            }
            let mut ends = self.ends(&block[at]);
            ends.then(&follows);
            follows = ends;
        }
    }

    /// Moves apart a barrier, if something can stand between its parts. Gives its place then.
    fn part(&self, block: &mut Block, at: usize, follows: &Ends) -> usize {
        let (arrive, is_fence) = self.earliest(&block[..at], follows);
        if arrive == at {
            return at;
        }
        let span = block[at].span;
        if is_fence {
            block[at] = Node::barrier(Scope::Subgroup, span);
            self.wait(block, at + 1, span);
        } else {
            block[at] = of_workgroup(Part::Wait, span);
        }
        block.insert(arrive, of_workgroup(Part::Arrive, span));
        at + 1
    }

    /// Where the arrive of a barrier can stand among what stands before it; and whether what each subgroup has to itself is then ordered
    /// by a barrier of subgroups in its place.
    fn earliest(&self, before: &[Node], follows: &Ends) -> (usize, bool) {
        let (mut at, mut between) = (before.len(), Ends { open: true, ..Ends::default() });
        for node in before.iter().rev().take_while(|node| !self.stays(node)) {
            let mut longer = self.ends(node);
            longer.then(&between);
            let shared: Vec<Touch> = longer.tail.iter().filter(|touch| !self.is_own(touch)).copied().collect();
            // Behind the step, and in the next one, is not looked.
            if !shared.is_empty() && (follows.open || meet(&shared, &follows.head, After::Same).is_some()) {
                break;
            }
            (at, between) = (at - 1, longer);
        }
        let own: Vec<Touch> = between.tail.iter().filter(|touch| self.is_own(touch)).copied().collect();
        (at, !own.is_empty() && (follows.open || meet(&own, &follows.head, After::Same).is_some()))
    }

    /// Puts the wait before the first that is not of each subgroup alone.
    fn wait(&self, block: &mut Block, from: usize, span: SpanId) {
        let is_own = |node: &&Node| !self.waits(node) && self.ends(node).head.iter().all(|touch| self.is_own(touch));
        let at = from + block[from..].iter().take_while(is_own).count();
        match block.get_mut(at).map(|node| &mut node.kind) {
            Some(NodeKind::Alloc { body, .. }) => self.wait(body, 0, span),
            _ => block.insert(at, of_workgroup(Part::Wait, span)),
        }
    }

    /// Whether no arrive passes a node.
    fn stays(&self, node: &Node) -> bool {
        self.waits(node) || walk::nodes(std::slice::from_ref(node)).any(|node| matches!(node.kind, NodeKind::Barrier { .. }))
    }

    /// Whether no wait passes a node: in it the workgroup waits, or it touches device memory that barriers may be for.
    fn waits(&self, node: &Node) -> bool {
        walk::nodes(std::slice::from_ref(node)).any(|node| match &node.kind {
            NodeKind::Barrier { scope, .. } => *scope == Scope::Workgroup,
            NodeKind::AllReduce(reduction) if reduction.scope == Scope::Workgroup => true,
            _ => {
                let touched = node.writes().into_iter().chain(reads(self.place.program, node));
                touched.into_iter().any(|buffer| self.in_place.contains(&buffer))
            }
        })
    }

    fn is_own(&self, touch: &Touch) -> bool {
        self.owners.get(&touch.buffer).is_some_and(Option::is_some)
    }

    /// What a node does. It has its barriers, and gets no others.
    fn ends(&self, node: &Node) -> Ends {
        self.place.node(&mut node.clone())
    }
}

fn of_workgroup(part: Part, span: SpanId) -> Node {
    Node::new(NodeKind::Barrier { scope: Scope::Workgroup, part }, span)
}

/// The buffers that a node reads itself.
fn reads(program: &Program, node: &Node) -> Vec<BufferId> {
    let read = |value: ExprId| program.exprs.reads(value).into_iter().map(|read| read.buffer).collect::<Vec<_>>();
    match &node.kind {
        NodeKind::Compute(compute) => compute.values().flat_map(read).collect(),
        NodeKind::Copy(copy) => read(copy.value),
        NodeKind::AllReduce(reduction) => reduction.src.iter().map(|place| place.buffer).collect(),
        _ => Vec::new(),
    }
}

/// The device memory that a block both reads and writes.
fn in_place(program: &Program, block: &Block) -> BTreeSet<BufferId> {
    let read: BTreeSet<BufferId> = walk::nodes(block).flat_map(|node| reads(program, node)).collect();
    let written = walk::nodes(block).flat_map(Node::writes);
    written.filter(|buffer| program.buffers[*buffer].space.is_global() && read.contains(buffer)).collect()
}
