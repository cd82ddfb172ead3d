//! Barriers: between accesses of one shared buffer by different invocations, one of which writes, where nothing yet makes
//! them wait for each other.
//!
//! One walk from the first node to the last, that remembers which accesses were made since the last barrier. Before a node
//! whose first accesses meet one of those stands a barrier; and at the end of a loop's body, if its last accesses meet the
//! first ones of the next iteration. So copies that stand side by side share one barrier, and what is read by who wrote it
//! (registers, and shared elements that an index gives to one invocation) needs none.
//!
//! Accesses of different versions of a buffer do not meet, as far as their distance is known: within an iteration of the loop that counts the
//! versions, and from one to the next.
//!
//! A barrier stands as late as it can, but for *hints*, which are barriers of one invocation: where one would do, it stands at the last hint
//! before. No hint is left.
//!
//! No barrier stands under a predicate: those are on leaves. That loops around it run alike in all invocations, directives
//! have seen to. [`crate::verify`] checks both, by other means.

use crate::diag::SpanId;
use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::{AxisId, Block, BufferId, Exec, Node, NodeKind, Program, Scope, Space, walk};
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
        walk_blocks(&mut dispatch.body, &mut |block| block.retain(|node| !is_hint(node)));
    }
    program.plan = plan;
}

/// Whether a nest has shared memory.
fn shares(program: &Program, block: &Block) -> bool {
    let is_shared =
        |node: &Node| matches!(node.kind, NodeKind::Alloc { buffer, .. } if program.buffers[buffer].space == Space::Shared);
    walk::nodes(block).any(is_shared)
}

fn walk_blocks(block: &mut Block, f: &mut dyn FnMut(&mut Block)) {
    f(block);
    block.iter_mut().flat_map(Node::blocks_mut).for_each(|inner| walk_blocks(inner, f));
}

fn is_hint(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Barrier { scope: Scope::Invocation })
}

/// An access of shared memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Touch {
    buffer: BufferId,
    writes: bool,
    version: Option<Version>,
}

/// Which version of its buffer is accessed: the value of a loop's axis and a number, or a number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    axis: Option<AxisId>,
    number: i64,
    /// How many there are.
    of: i64,
}

/// How one access comes after the other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// In the same iteration of the loops around both.
    Same,
    /// In the next iteration of the loop over this axis.
    Next(AxisId),
    /// In some later iteration.
    Later,
}

/// What a block does up to its first barrier, and after its last.
#[derive(Clone, Default)]
struct Ends {
    head: Vec<Touch>,
    tail: Vec<Touch>,
    /// Whether it can be passed without a barrier.
    open: bool,
}

/// A place where a barrier may stand, and what was done before it and since.
struct Hint {
    at: usize,
    before: Ends,
    since: Ends,
}

struct Place<'p> {
    program: &'p Program,
    prover: Prover<'p>,
}

impl Place<'_> {
    fn block(&self, block: &mut Block) -> Ends {
        self.block_and_lead(block).0
    }

    /// What a block does; and where a hint stands before which it does nothing.
    fn block_and_lead(&self, block: &mut Block) -> (Ends, Option<usize>) {
        let mut all = Ends { open: true, ..Ends::default() };
        let mut placed = Vec::with_capacity(block.len());
        let (mut hint, mut lead): (Option<Hint>, _) = (None, None);
        for mut node in std::mem::take(block) {
            if is_hint(&node) {
                if all.open && all.head.is_empty() {
                    lead = Some(placed.len());
                }
                hint = Some(Hint { at: placed.len(), before: all.clone(), since: Ends { open: true, ..Ends::default() } });
                continue;
            }
            let ends = self.node(&mut node);
            if meet(&all.tail, &ends.head, After::Same) {
                match hint.take().filter(|hint| !meet(&hint.since.tail, &ends.head, After::Same)) {
                    Some(Hint { at, before, since }) => {
                        placed.insert(at, barrier(node.span));
                        all = Ends { head: before.head, tail: since.tail, open: false };
                    }
                    None => {
                        placed.push(barrier(node.span));
                        all.tail.clear();
                        all.open = false;
                    }
                }
            }
            if let Some(hint) = &mut hint {
                hint.since.then(&ends);
            }
            all.then(&ends);
            placed.push(node);
        }
        *block = placed;
        (all, lead)
    }

    fn node(&self, node: &mut Node) -> Ends {
        match &mut node.kind {
            NodeKind::Loop(looped) => {
                let (mut ends, lead) = self.block_and_lead(&mut looped.body);
                if matches!(looped.exec, Exec::Bind(..) | Exec::Lanes) {
                    return ends;
                }
                let after = if ends.open { After::Later } else { After::Next(looped.axis) };
                let repeats = !matches!(looped.exec, Exec::Step(_)) && !self.program.is_single(looped.axis);
                if repeats && meet(&ends.tail, &ends.head, after) {
                    match lead {
                        Some(at) => {
                            looped.body.insert(at, barrier(node.span));
                            ends.head.clear();
                        }
                        None => {
                            looped.body.push(barrier(node.span));
                            ends.tail.clear();
                        }
                    }
                    ends.open = false;
                }
                // A loop that may run no iteration lets through what its barriers would not.
                let runs = ends.open || self.prover.positive(self.program.axes[looped.axis].extent);
                ends.open |= !runs;
                ends.leave(looped.axis);
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
        let mut note = |buffer: BufferId, index: &[ExprId], writes: bool| {
            let touch = Touch { buffer, writes, version: self.version(buffer, index) };
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
                    note(dst.buffer, &dst.index, true);
                }
            }
            NodeKind::Copy(c) => {
                values.push(c.value);
                note(c.dst, c.version.as_slice(), true);
            }
            NodeKind::AllReduce(c) => {
                c.src.iter().for_each(|a| note(a.buffer, &a.index, false));
                c.dst.iter().for_each(|a| note(a.buffer, &a.index, true));
            }
            _ => {}
        }
        for read in values.into_iter().flat_map(|v| self.program.exprs.reads(v)) {
            note(read.buffer, &read.index, false);
        }
        found
    }

    /// The version of a buffer that an access is of, if it is a number beside an axis at the most.
    fn version(&self, buffer: BufferId, index: &[ExprId]) -> Option<Version> {
        let of = i64::from(self.program.buffers[buffer].versions);
        let sum = self.program.exprs.linear(*index.first().filter(|_| of > 1)?);
        let mut axes = sum.axes.iter();
        let axis = match (axes.next(), axes.next()) {
            (None, _) => None,
            (Some((axis, 1)), None) => Some(*axis),
            _ => return None,
        };
        sum.rest.is_empty().then_some(Version { axis, number: sum.constant, of })
    }
}

impl Ends {
    /// What is done by this and what follows it.
    fn then(&mut self, next: &Ends) {
        if self.open {
            add(&mut self.head, &next.head);
        }
        if !next.open {
            self.tail.clear();
        }
        add(&mut self.tail, &next.tail);
        self.open &= next.open;
    }

    /// Outside of a loop, nothing is known of the versions that it counts.
    fn leave(&mut self, axis: AxisId) {
        for touch in self.head.iter_mut().chain(&mut self.tail) {
            touch.version = touch.version.filter(|version| version.axis != Some(axis));
        }
    }
}

/// Whether one of the earlier accesses must be over before one of the later ones.
fn meet(earlier: &[Touch], later: &[Touch], after: After) -> bool {
    let conflict = |a: &Touch, b: &Touch| a.buffer == b.buffer && a.writes != b.writes && !are_apart(*a, *b, after);
    earlier.iter().any(|a| later.iter().any(|b| conflict(a, b)))
}

/// Whether two accesses are of different versions.
fn are_apart(earlier: Touch, later: Touch, after: After) -> bool {
    let (Some(a), Some(b)) = (earlier.version, later.version) else { return false };
    let steps = match after {
        After::Same => 0,
        After::Next(axis) => i64::from(a.axis == Some(axis)),
        After::Later => return false,
    };
    a.axis == b.axis && (b.number - a.number + steps).rem_euclid(a.of) != 0
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
