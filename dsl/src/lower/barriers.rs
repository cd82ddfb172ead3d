//! Barriers: between accesses of one shared buffer by different invocations, one of which writes, where nothing yet makes
//! them wait for each other.
//!
//! One walk from the first node to the last, that remembers which accesses were made since the last barrier. Before a node
//! whose first accesses meet one of those stands a barrier; and at the end of a loop's body, if its last accesses meet the
//! first ones of the next iteration. So copies that stand side by side share one barrier, and what is read by who wrote it
//! (registers, and shared elements that an index gives to one invocation) needs none.
//!
//! No barrier stands under a predicate: those are on leaves. That loops around it run alike in all invocations, directives
//! have seen to. [`crate::verify`] checks both, by other means.

use crate::diag::SpanId;
use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::{Block, BufferId, Exec, Node, NodeKind, Program, Scope, Space, walk};
use crate::profile::Profile;

/// Places the barriers of every dispatch.
pub fn run(program: &mut Program, profile: &Profile) {
    let mut plan = std::mem::take(&mut program.plan);
    for dispatch in &mut plan {
        // One invocation waits for nobody.
        let alone = super::local::size(program, &dispatch.body, profile.subgroup) == [1; 3];
        if !alone && shares(program, &dispatch.body) {
            let prover = Prover::new(program);
            Place { program, prover }.block(&mut dispatch.body);
        }
    }
    program.plan = plan;
}

/// Whether a nest has shared memory.
fn shares(program: &Program, block: &Block) -> bool {
    let is_shared =
        |node: &Node| matches!(node.kind, NodeKind::Alloc { buffer, .. } if program.buffers[buffer].space == Space::Shared);
    walk::nodes(block).any(is_shared)
}

/// An access of shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    buffer: BufferId,
    writes: bool,
}

/// What a block does up to its first barrier, and after its last.
#[derive(Clone, Default)]
struct Ends {
    head: Vec<Touch>,
    tail: Vec<Touch>,
    /// Whether it can be passed without a barrier.
    open: bool,
}

struct Place<'p> {
    program: &'p Program,
    prover: Prover<'p>,
}

impl Place<'_> {
    fn block(&self, block: &mut Block) -> Ends {
        let mut all = Ends { open: true, ..Ends::default() };
        let mut placed = Vec::with_capacity(block.len());
        for mut node in std::mem::take(block) {
            let ends = self.node(&mut node);
            if meet(&all.tail, &ends.head) {
                placed.push(barrier(node.span));
                all.tail.clear();
                all.open = false;
            }
            if all.open {
                add(&mut all.head, &ends.head);
            }
            if !ends.open {
                all.tail.clear();
            }
            add(&mut all.tail, &ends.tail);
            all.open &= ends.open;
            placed.push(node);
        }
        *block = placed;
        all
    }

    fn node(&self, node: &mut Node) -> Ends {
        match &mut node.kind {
            NodeKind::Loop(looped) => {
                let mut ends = self.block(&mut looped.body);
                let bound = matches!(looped.exec, Exec::Bind(..) | Exec::Lanes);
                if bound {
                    return ends;
                }
                if !self.program.is_single(looped.axis) && meet(&ends.tail, &ends.head) {
                    looped.body.push(barrier(node.span));
                    ends.tail.clear();
                    ends.open = false;
                }
                // A loop that may run no iteration lets through what its barriers would not.
                let runs = ends.open || self.prover.positive(self.program.axes[looped.axis].extent);
                ends.open |= !runs;
                ends
            }
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Branch { then, other, .. } => {
                let (mut both, other) = (self.block(then), self.block(other));
                add(&mut both.head, &other.head);
                add(&mut both.tail, &other.tail);
                both.open |= other.open;
                both
            }
            NodeKind::Barrier { scope: Scope::Workgroup } => Ends::default(),
            leaf => {
                let touches = self.touches(leaf);
                Ends { head: touches.clone(), tail: touches, open: true }
            }
        }
    }

    /// What a leaf does to shared memory.
    fn touches(&self, leaf: &NodeKind) -> Vec<Touch> {
        let mut found = Vec::new();
        let mut note = |buffer: BufferId, writes: bool| {
            let touch = Touch { buffer, writes };
            if self.program.buffers[buffer].space == Space::Shared && !found.contains(&touch) {
                found.push(touch);
            }
        };
        let mut values: Vec<ExprId> = Vec::new();
        match leaf {
            NodeKind::Compute(c) => {
                values.extend(&c.value);
                for dst in &c.dst {
                    values.extend(&dst.index);
                    note(dst.buffer, true);
                }
            }
            NodeKind::Copy(c) => {
                values.push(c.value);
                note(c.dst, true);
            }
            NodeKind::AllReduce(c) => {
                c.src.iter().for_each(|a| note(a.buffer, false));
                c.dst.iter().for_each(|a| note(a.buffer, true));
            }
            _ => {}
        }
        for read in values.into_iter().flat_map(|v| self.program.exprs.reads(v)) {
            note(read.buffer, false);
        }
        found
    }
}

/// Whether one of the earlier accesses must be over before one of the later ones.
fn meet(earlier: &[Touch], later: &[Touch]) -> bool {
    earlier.iter().any(|a| later.iter().any(|b| a.buffer == b.buffer && (a.writes || b.writes) && (a.writes != b.writes)))
}

fn add(to: &mut Vec<Touch>, more: &[Touch]) {
    for touch in more {
        if !to.contains(touch) {
            to.push(*touch);
        }
    }
}

fn barrier(span: SpanId) -> Node {
    Node::new(NodeKind::Barrier { scope: Scope::Workgroup }, span)
}
