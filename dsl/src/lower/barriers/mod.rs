//! Places barriers between a write of a shared buffer and a conflicting access by another invocation.
//!
//! One walk from the first node to the last remembers the accesses since the last barrier. A barrier is placed before a node whose
//! first accesses conflict with them. Another one is placed in a loop's body if the last accesses of an iteration conflict with the
//! first accesses of the next iteration. So sibling copies share one barrier.
//!
//! Accesses of different buffers conflict if the buffers use the same memory at different times ([`super::overlay`]).
//!
//! If the indices prove that one subgroup alone writes and reads an element, a subgroup barrier is placed, because it costs much less.
//!
//! Accesses of different versions of a buffer do not conflict, if their distance is known: within an iteration of the loop that counts
//! the versions, and from one iteration to the next.
//!
//! A barrier is placed as late as possible. The exception is a *hint*, a barrier of scope [`Scope::Invocation`]: if a workgroup barrier at the last
//! hint suffices, it is placed there. All hints are removed afterwards.
//!
//! A barrier is never under a predicate, because only leaves have predicates. The directives ensure that the loops around a barrier run
//! the same iterations in all invocations. [`crate::verify`] checks both independently.

use crate::expr::ExprId;
use crate::facts::Prover;
use crate::nest::{Access, AxisId, Block, BufferId, Exec, Level, Node, NodeKind, Program, Scope, Slot, Space, walk};
use crate::profile::Profile;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Places the barriers of every dispatch.
pub fn run(program: &mut Program, profile: &Profile) {
    let mut plan = std::mem::take(&mut program.plan);
    for dispatch in &mut plan {
        // A workgroup of one invocation needs no barriers.
        let local = super::local::size(program, &dispatch.body, profile.subgroup);
        if local != [1; 3] && shares(program, &dispatch.body) {
            BarrierWalk::new(program, profile, local).block(&mut dispatch.body);
        }
        walk_blocks(&mut dispatch.body, &mut |block| block.retain(|node| !is_hint(node)));
    }
    program.plan = plan;
}

/// The elements of a shared buffer that only one subgroup accesses: subgroup s accesses the elements `n stride + s run + e`, for n below
/// `runs` and e below `run`.
pub(super) struct Share {
    pub(super) buffer: BufferId,
    pub(super) run: i64,
    pub(super) stride: i64,
    pub(super) runs: i64,
}

/// Returns the shares of the subgroups in each shared buffer whose accesses all determine the subgroup.
pub(super) fn shares_of(program: &Program, profile: &Profile, body: &Block) -> Vec<Share> {
    let place = BarrierWalk::new(program, profile, super::local::size(program, body, profile.subgroup));
    let part = |(buffer, owner): (BufferId, Option<Owner>)| {
        let (owner, b) = (owner?, &program.buffers[buffer]);
        if b.versions != 1 || b.swizzle != 0 {
            return None;
        }
        let mut shape: Vec<i64> = b.shape.iter().map(|n| program.exprs.as_int(*n)).collect::<Option<_>>()?;
        *shape.last_mut()? += i64::from(b.row_pad);
        let product = |extents: &[i64]| extents.iter().try_fold(1i64, |all, n| all.checked_mul(*n));
        let (runs, step) = (product(&shape[..owner.dimension])?, product(&shape[owner.dimension + 1..])?);
        let (run, stride) = (owner.times.checked_mul(step)?, shape[owner.dimension].checked_mul(step)?);
        (owner.count.checked_mul(run)? <= stride).then_some(Share { buffer, run, stride, runs })
    };
    place.owners(body).into_iter().filter_map(part).collect()
}

/// True if a nest allocates shared memory.
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
struct SharedAccess {
    buffer: BufferId,
    writes: bool,
    /// True for an update by an atomic operation, which the updates of other invocations may precede or follow.
    adds: bool,
    version: Option<Version>,
    owner: Option<Owner>,
    /// True if a subgroup barrier separates it from the end of the summarized nodes (in a tail), or from their beginning (in a head).
    fenced: bool,
}

/// The subgroup that accesses an element: an index divided by a number, rounded down.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    dimension: usize,
    slot: Slot,
    count: i64,
    times: i64,
}

/// The version of its buffer that an access is of: the value of a loop's axis plus a number, or a number alone.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    axis: Option<AxisId>,
    number: i64,
    /// The number of versions.
    of: i64,
}

/// The distance between an access and a later one, in iterations.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// In the same iteration of the loops around both.
    Same,
    /// In the next iteration of the loop over this axis.
    Next(AxisId),
    /// In some later iteration.
    Later,
}

/// The accesses of a block before its first barrier and after its last one.
#[derive(Clone, Default)]
struct Ends {
    head: Vec<SharedAccess>,
    tail: Vec<SharedAccess>,
    /// True if a path through the block crosses no workgroup barrier.
    open: bool,
    /// True if every path through the block crosses a subgroup barrier.
    fence: bool,
}

/// A preferred position of a barrier, and the accesses before it and after it.
struct Hint {
    at: usize,
    before: Ends,
    since: Ends,
}

struct BarrierWalk<'p> {
    program: &'p Program,
    prover: Prover<'p>,
    /// The number of subgroups of a workgroup, or 0 if it is not known.
    subgroups: i64,
    /// The loops around the current node.
    around: RefCell<Vec<(AxisId, Exec)>>,
}

impl<'p> BarrierWalk<'p> {
    fn new(program: &'p Program, profile: &Profile, local: [u32; 3]) -> BarrierWalk<'p> {
        let invocations = local.into_iter().fold(1u32, u32::saturating_mul);
        let subgroups = profile.subgroup.and_then(|size| invocations.checked_div(size)).map_or(0, i64::from);
        BarrierWalk { program, prover: Prover::new(program), subgroups, around: RefCell::default() }
    }

    fn block(&self, block: &mut Block) -> Ends {
        self.block_and_lead(block).0
    }

    /// Returns the accesses of a block, and the position of the last hint before its first access.
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
            match self.meet(&all.tail, &ends.head, After::Same) {
                Some(Scope::Subgroup) => {
                    placed.push(Node::barrier(Scope::Subgroup, node.span));
                    all.fenced();
                    hint.iter_mut().for_each(|hint| hint.since.fenced());
                }
                Some(_) => match hint.take().filter(|hint| self.meet(&hint.since.tail, &ends.head, After::Same).is_none()) {
                    Some(Hint { at, before, since }) => {
                        placed.insert(at, Node::barrier(Scope::Workgroup, node.span));
                        all = Ends { head: before.head, tail: since.tail, open: false, fence: before.fence || since.fence };
                    }
                    None => {
                        placed.push(Node::barrier(Scope::Workgroup, node.span));
                        all.tail.clear();
                        all.open = false;
                    }
                },
                None => {}
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
                self.around.borrow_mut().push((looped.axis, looped.exec));
                let (mut ends, lead) = self.block_and_lead(&mut looped.body);
                self.around.borrow_mut().pop();
                if matches!(looped.exec, Exec::Bind(..) | Exec::Lanes) {
                    return ends;
                }
                let after = if ends.open { After::Later } else { After::Next(looped.axis) };
                let repeats = !matches!(looped.exec, Exec::Step(_)) && !self.program.is_single(looped.axis);
                match self.meet(&ends.tail, &ends.head, after).filter(|_| repeats) {
                    Some(Scope::Subgroup) => {
                        looped.body.push(Node::barrier(Scope::Subgroup, node.span));
                        ends.fenced();
                    }
                    Some(_) => {
                        match lead {
                            Some(at) => {
                                looped.body.insert(at, Node::barrier(Scope::Workgroup, node.span));
                                ends.head.clear();
                            }
                            None => {
                                looped.body.push(Node::barrier(Scope::Workgroup, node.span));
                                ends.tail.clear();
                            }
                        }
                        ends.open = false;
                    }
                    None => {}
                }
                // If the loop may run no iteration, its barriers may not be executed.
                let runs = (ends.open && !ends.fence) || self.prover.positive(self.program.axes[looped.axis].extent);
                ends.open |= !runs;
                ends.fence &= runs;
                ends.leave(looped.axis);
                ends
            }
            NodeKind::Alloc { body, .. } => self.block(body),
            NodeKind::Branch { then, other, .. } => {
                let (mut both, other) = (self.block(then), self.block(other));
                add(&mut both.head, &other.head);
                add(&mut both.tail, &other.tail);
                both.open |= other.open;
                both.fence &= other.fence;
                both
            }
            NodeKind::Barrier { scope: Scope::Workgroup } => Ends::default(),
            NodeKind::Barrier { scope: Scope::Subgroup } => Ends { open: true, fence: true, ..Ends::default() },
            _ => {
                let touches = self.touches(node);
                Ends { head: touches.clone(), tail: touches, open: true, fence: false }
            }
        }
    }

    /// Returns the scope of the barrier that is needed between the earlier and the later accesses.
    fn meet(&self, earlier: &[SharedAccess], later: &[SharedAccess], after: After) -> Option<Scope> {
        let mut waits = None;
        for (a, b) in earlier.iter().flat_map(|a| later.iter().map(move |b| (a, b))) {
            if (a.writes || b.writes) && self.program.overlay(a.buffer, b.buffer) {
                return Some(Scope::Workgroup);
            }
            if a.buffer != b.buffer || (a.writes, a.adds) == (b.writes, b.adds) || are_apart(*a, *b, after) {
                continue;
            }
            match a.owner.is_some() && a.owner == b.owner {
                false => return Some(Scope::Workgroup),
                true if a.fenced || b.fenced => {}
                true => waits = Some(Scope::Subgroup),
            }
        }
        waits
    }

    /// Returns a node's own accesses to shared memory.
    fn touches(&self, node: &Node) -> Vec<SharedAccess> {
        let mut found = Vec::new();
        for access in node.accesses(&self.program.exprs) {
            let (writes, Access { buffer, index }) = (access.writes(), access.place);
            if self.program.buffers[buffer].space != Space::Shared {
                continue;
            }
            let (version, owner) = (self.version(buffer, &index), self.owner(&index));
            let adds = writes && matches!(&node.kind, NodeKind::Compute(c) if self.program.notes.scattered.contains_key(&c.stage));
            let touch = SharedAccess { buffer, writes, adds, version, owner, fenced: false };
            if !found.contains(&touch) {
                found.push(touch);
            }
        }
        found
    }

    /// Returns the owner of each shared buffer's elements: `None` unless all accesses have the same owner.
    fn owners(&self, block: &Block) -> BTreeMap<BufferId, Option<Owner>> {
        let mut owners: BTreeMap<BufferId, Option<Owner>> = BTreeMap::new();
        walk::within(block, &mut |node, around| {
            *self.around.borrow_mut() = around.iter().map(|l| (l.axis, l.exec)).collect();
            for touch in self.touches(node) {
                let owner = owners.entry(touch.buffer).or_insert(touch.owner);
                *owner = owner.filter(|owner| touch.owner == Some(*owner));
            }
        });
        self.around.borrow_mut().clear();
        owners
    }

    /// Returns the subgroup that an index determines, if the index distinguishes all subgroups of a workgroup.
    fn owner(&self, index: &[ExprId]) -> Option<Owner> {
        index.iter().enumerate().find_map(|(dimension, index)| self.told(dimension, *index)).filter(|o| o.count == self.subgroups)
    }

    fn told(&self, dimension: usize, index: ExprId) -> Option<Owner> {
        let around = self.around.borrow();
        let bound = around.iter().map(|(axis, _)| *axis).collect();
        let sum = self.program.exprs.linear(self.program.over_leaves(index, &bound));
        let (mut found, mut below) = (None, sum.constant);
        for (axis, times) in &sum.axes {
            let extent = self.program.exprs.as_int(self.program.axes[*axis].extent)?;
            match around.iter().find(|(looped, _)| looped == axis)?.1 {
                Exec::Bind(Level::Subgroup, slot) if found.is_none() => {
                    found = Some(Owner { dimension, slot, count: extent, times: *times });
                }
                Exec::Bind(Level::Subgroup | Level::Workgroup | Level::Thread, _) => return None,
                _ if *times < 0 => return None,
                _ => below += times * (extent - 1),
            }
        }
        found.filter(|owner| sum.rest.is_empty() && sum.constant >= 0 && below < owner.times)
    }

    /// Returns the version of a buffer that an access is of, if its index is a number, or an axis plus a number.
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
    /// Appends the accesses of the nodes that follow.
    fn then(&mut self, next: &Ends) {
        if self.open {
            let fence = self.fence;
            let head = next.head.iter().map(|touch| SharedAccess { fenced: touch.fenced || fence, ..*touch });
            add(&mut self.head, &head.collect::<Vec<_>>());
        }
        if !next.open {
            self.tail.clear();
        }
        if next.fence {
            self.tail.iter_mut().for_each(|touch| touch.fenced = true);
        }
        add(&mut self.tail, &next.tail);
        self.open &= next.open;
        self.fence |= next.fence;
    }

    /// Appends a subgroup barrier.
    fn fenced(&mut self) {
        self.tail.iter_mut().for_each(|touch| touch.fenced = true);
        self.fence = true;
    }

    /// Forgets the versions that a loop counts, because they are unknown outside it.
    fn leave(&mut self, axis: AxisId) {
        for touch in self.head.iter_mut().chain(&mut self.tail) {
            touch.version = touch.version.filter(|version| version.axis != Some(axis));
        }
    }
}

/// True if two accesses are of different versions.
fn are_apart(earlier: SharedAccess, later: SharedAccess, after: After) -> bool {
    let (Some(a), Some(b)) = (earlier.version, later.version) else { return false };
    let steps = match after {
        After::Same => 0,
        After::Next(axis) => i64::from(a.axis == Some(axis)),
        After::Later => return false,
    };
    a.axis == b.axis && (b.number - a.number + steps).rem_euclid(a.of) != 0
}

fn add(to: &mut Vec<SharedAccess>, more: &[SharedAccess]) {
    for touch in more {
        if !to.contains(touch) {
            to.push(*touch);
        }
    }
}
