//! Checks barriers: if one invocation writes an element of shared memory and another one accesses it, every path from one access to the
//! other must cross a barrier of the workgroup.
//!
//! A block's summary has three parts: the accesses that can be reached from its beginning without a barrier (its *head*), the
//! accesses from which its end can be reached without a barrier (its *tail*), and the barriers that every path through it crosses. For two
//! consecutive blocks, the tail of the first is checked against the head of the second. For a loop, the tail of its body is checked
//! against the head of the next iteration.
//!
//! The same holds for device memory that one invocation writes for several, such as a reduction's result in place, because the other
//! invocations may read it.
//!
//! Accesses of different buffers conflict if the buffers use the same memory at different times.
//!
//! Two accesses of one buffer do not conflict if their versions differ, or if an index determines that the same invocation makes both. If an index
//! determines that the same subgroup makes both, a subgroup barrier (a *fence*) is enough. Two writes do not conflict either if predicates
//! restrict both to the first invocation. Predicates do not restrict reads, because a load may precede the branch.

use crate::diag::Error;
use crate::expr::ExprId;
use crate::nest::{AllReduce, AxisId, Block, BufferId, Exec, Fate, Level, Node, NodeKind, Phase, Scope, Slot, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Role, Site, SiteAccess};
use std::collections::BTreeSet;

/// The scopes of the barriers that every path between two points crosses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Crossed {
    workgroup: bool,
    subgroup: bool,
}

impl Crossed {
    /// Returns the barrier that a leaf is.
    fn of(leaf: &Node) -> Crossed {
        let crosses = |wanted: Scope| matches!(leaf.kind, NodeKind::Barrier { scope } if scope == wanted);
        Crossed { workgroup: crosses(Scope::Workgroup), subgroup: crosses(Scope::Subgroup) }
    }

    fn then(self, next: Crossed) -> Crossed {
        Crossed { workgroup: self.workgroup || next.workgroup, subgroup: self.subgroup || next.subgroup }
    }
}

/// An access of a leaf: the position of the leaf, and the access's position in the leaf.
#[derive(Clone, Copy, PartialEq, Eq)]
struct CrossedAccess {
    site: usize,
    touch: usize,
    /// The barriers from the beginning of the block to the access (in a head), or from the access to the end (in a tail).
    crossed: Crossed,
}

#[derive(Clone)]
struct Summary {
    head: Vec<CrossedAccess>,
    tail: Vec<CrossedAccess>,
    /// The barriers from its beginning to its end.
    crossed: Crossed,
}

/// An access: a leaf and one of its reads or writes.
type Access<'s> = (&'s Site<'s>, &'s SiteAccess);

/// The distance between an access and a later one, in iterations.
#[derive(Clone, Copy)]
enum After {
    /// In the same iteration of the loops around both.
    Same,
    /// In the next iteration of this loop.
    Next(AxisId),
    /// In some later iteration of this loop.
    Later(AxisId),
}

impl Checks<'_> {
    /// Checks every pair of accesses that may conflict.
    pub(in crate::verify) fn hazards(&self) {
        let mut next = 0;
        let dispatch = self.dispatch;
        self.summary(&dispatch.body, &mut next);
    }

    /// Summarizes a block, whose leaves begin at `next` in [`Checks::sites`].
    fn summary(&self, block: &Block, next: &mut usize) -> Summary {
        let mut all = Summary { head: Vec::new(), tail: Vec::new(), crossed: Crossed::default() };
        for node in block {
            let part = self.part(node, next);
            self.meet(&all.tail, &part.head, After::Same);
            let head = part.head.iter().map(|item| CrossedAccess { crossed: all.crossed.then(item.crossed), ..*item });
            all.head.extend(head.filter(|item| !item.crossed.workgroup));
            all.tail.iter_mut().for_each(|item| item.crossed = item.crossed.then(part.crossed));
            all.tail.retain(|item| !item.crossed.workgroup);
            all.tail.extend(part.tail);
            all.crossed = all.crossed.then(part.crossed);
        }
        all
    }

    fn part(&self, node: &Node, next: &mut usize) -> Summary {
        match &node.kind {
            NodeKind::Loop(looped) => {
                let mut body = self.summary(&looped.body, next);
                let repeats = matches!(looped.exec, Exec::Serial | Exec::Unroll) && !body.head.is_empty();
                if repeats && !self.single(looped.axis) {
                    let (once, again): (Vec<CrossedAccess>, Vec<CrossedAccess>) =
                        body.tail.iter().copied().partition(|item| item.crossed.then(body.crossed).workgroup);
                    self.meet(&once, &body.head, After::Next(looped.axis));
                    self.meet(&again, &body.head, After::Later(looped.axis));
                }
                // If the loop may run no iteration, its barriers may not be executed.
                let bound = matches!(looped.exec, Exec::Bind(..));
                if body.crossed != Crossed::default() && !bound && !self.provers.roots.positive(self.extent(looped.axis)) {
                    body.crossed = Crossed::default();
                }
                body
            }
            NodeKind::Alloc { body, .. } => self.summary(body, next),
            _ => {
                let at = *next;
                *next += 1;
                self.leaf(node, at)
            }
        }
    }

    fn leaf(&self, node: &Node, at: usize) -> Summary {
        let watched = |touch: &SiteAccess| *self.space(touch.buffer) == Space::Shared || self.is_from_all_reduce(touch.buffer);
        let touches = self.sites[at].touches.iter().enumerate().filter(|(_, touch)| watched(touch));
        let items: Vec<CrossedAccess> =
            touches.map(|(touch, _)| CrossedAccess { site: at, touch, crossed: Crossed::default() }).collect();
        // Checks a leaf's reads against its own writes by other invocations. Another check proves that the writes are disjoint.
        for (i, first) in items.iter().enumerate() {
            self.meet(&[*first], &items[i + 1..], After::Same);
        }
        Summary { head: items.clone(), tail: items, crossed: Crossed::of(node) }
    }

    /// Refuses each pair of accesses that may conflict.
    fn meet(&self, earlier: &[CrossedAccess], later: &[CrossedAccess], after: After) {
        let access = |item: &CrossedAccess| (&self.sites[item.site], &self.sites[item.site].touches[item.touch]);
        for (a, b) in earlier.iter().flat_map(|a| later.iter().map(move |b| (a, b))) {
            let (first, second, crossed) = (access(a), access(b), a.crossed.then(b.crossed));
            if !(first.1.writes || second.1.writes) || crossed.workgroup {
                continue;
            }
            if self.program.overlay(first.1.buffer, second.1.buffer) {
                self.hazard(first, second, after);
            }
            if first.1.buffer != second.1.buffer || self.both_add(first, second) {
                continue;
            }
            let itself = (a.site, a.touch) == (b.site, b.touch);
            if self.space(first.1.buffer).is_global() {
                let (read, write) = if first.1.writes { (second.0, first.0) } else { (first.0, second.0) };
                // Another check proves that the reads have the index of the write.
                let apart = || self.counted_by(first, after) || self.is_once(first.0, second.0, after);
                if first.1.writes != second.1.writes && self.is_result_of(write, read) && !apart() {
                    self.hazard(first, second, after);
                }
                continue;
            }
            let apart = self.versions_differ(first, second, after)
                || self.same_invocation(first, second)
                || (first.1.writes && second.1.writes && self.is_of_first(first.0) && self.is_of_first(second.0))
                || (crossed.subgroup && self.same_subgroup(first, second))
                || (itself && (self.counted_by(first, after) || self.written_alike(first, after) || self.written_by_one(first)));
            if !apart {
                self.hazard(first, second, after);
            }
        }
    }

    /// True if both accesses are updates by atomic operations, whose order does not matter.
    fn both_add(&self, first: Access<'_>, second: Access<'_>) -> bool {
        let adds = |(site, touch): Access<'_>| {
            touch.role == Role::Update && matches!(&site.node.kind, NodeKind::Compute(c) if c.phase == Phase::Atomic)
        };
        adds(first) && adds(second)
    }

    /// True if the result of an all-reduce goes to this buffer in device memory. One invocation then writes elements that others may
    /// still read.
    fn is_from_all_reduce(&self, buffer: BufferId) -> bool {
        let writes = |site: &&Site<'_>| site.touches.iter().any(|touch| touch.writes && touch.buffer == buffer);
        let mut writers = self.sites.iter().filter(writes);
        self.space(buffer).is_global() && writers.any(|site| self.all_reduces_read(site).next().is_some())
    }

    /// Returns the all-reduces whose results a leaf reads.
    fn all_reduces_read<'c>(&'c self, site: &'c Site<'_>) -> impl Iterator<Item = &'c AllReduce> {
        let reads = |buffer: BufferId| site.touches.iter().any(|touch| !touch.writes && touch.buffer == buffer);
        let reductions = self.sites.iter().filter_map(|site| match &site.node.kind {
            NodeKind::AllReduce(reduction) => Some(reduction),
            _ => None,
        });
        reductions.filter(move |reduction| reduction.dst.iter().any(|to| reads(to.buffer)))
    }

    /// True if `write` stores the result of an all-reduce of the values that `update` accumulates.
    fn is_result_of(&self, write: &Site<'_>, update: &Site<'_>) -> bool {
        let updates = |buffer| update.touches.iter().any(|touch| touch.role == Role::Update && touch.buffer == buffer);
        self.all_reduces_read(write).any(|reduction| reduction.src.iter().any(|from| updates(from.buffer)))
    }

    /// True if two accesses are of different versions of their buffer.
    fn versions_differ(&self, first: Access<'_>, second: Access<'_>, after: After) -> bool {
        let versions = i128::from(self.program.buffers[first.1.buffer].versions);
        if versions < 2 {
            return false;
        }
        let (Some(a), Some(b)) = (first.1.index.first(), second.1.index.first()) else { return false };
        let common = first.0.common(second.0);
        let loops = first.0.around[..common]
            .iter()
            .filter_map(|around| if let NodeKind::Loop(l) = &around.node.kind { Some(l.axis) } else { None });
        let mut around: Vec<AxisId> = loops.collect();
        // In another iteration of a loop, the axes of the loops within it may have any value.
        if let After::Next(axis) | After::Later(axis) = after
            && let Some(at) = around.iter().position(|inner| *inner == axis)
        {
            around.truncate(at + 1);
        }
        let named = |site: &Site<'_>, e| self.made_of(self.named(&[e]), site).leaves.into_iter().all(|leaf| around.contains(&leaf));
        if !named(first.0, *a) || !named(second.0, *b) {
            return false;
        }
        let leaves = &self.provers.leaves;
        let distance = leaves.poly(*a).zip(leaves.poly(*b)).and_then(|(a, b)| b.sub(&a)?.as_constant());
        let step = |axis: AxisId| {
            let sum = self.sum(*b);
            let rest = sum.rest.iter().any(|(e, _)| self.named(&[*e]).contains(&axis));
            (!rest).then(|| i128::from(sum.axes.get(&axis).copied().unwrap_or(0)))
        };
        let distance = match after {
            After::Same => distance,
            After::Next(axis) => distance.zip(step(axis)).map(|(distance, step)| distance + step),
            After::Later(_) => None,
        };
        distance.is_some_and(|distance| distance.rem_euclid(versions) != 0)
    }

    /// True if the index of an access determines the iteration, for all invocations. Then no two iterations access the same element.
    fn counted_by(&self, (site, touch): Access<'_>, after: After) -> bool {
        match after {
            After::Same => false,
            After::Next(axis) | After::Later(axis) => self.told(site, &touch.index).contains(&axis),
        }
    }

    /// True if the predicates of both leaves restrict them to the same single iteration. Only predicates on axes of one value count.
    fn is_once(&self, first: &Site<'_>, second: &Site<'_>, after: After) -> bool {
        let (After::Next(around) | After::Later(around)) = after else { return false };
        let both = first.preds().iter().filter(|pred| second.preds().iter().any(|other| other.axis == pred.axis));
        let ones: Vec<ExprId> = both.filter(|pred| self.single(pred.axis)).map(|pred| self.provers.value(pred.axis)).collect();
        self.told(first, &ones).contains(&around)
    }

    /// True if a leaf writes each element at one point of its inner loops, and at the same point in every iteration of the loop around them.
    /// Then an element is only overwritten by the invocation that has written it. (Loops that the element does not depend on repeat that
    /// point.)
    fn written_alike(&self, (site, touch): Access<'_>, after: After) -> bool {
        let (After::Next(around) | After::Later(around)) = after else { return false };
        let inner = || site.loops().skip_while(|looped| looped.axis != around).skip(1);
        let outer = |axis: &AxisId| !inner().any(|looped| looped.axis == *axis);
        let told = self.told(site, &touch.index);
        // How often a point is repeated does not matter.
        let extents: Vec<ExprId> = inner().filter(|l| told.contains(&l.axis)).map(|l| self.extent(l.axis)).collect();
        let depends_on = self.made_of(self.named(&[&touch.index[..], &extents].concat()), site).leaves;
        let repeats = |axis: AxisId, exec: Exec| matches!(exec, Exec::Serial | Exec::Unroll) && !depends_on.contains(&axis);
        let point = inner().all(|l| told.contains(&l.axis) || self.single(l.axis) || repeats(l.axis, l.exec));
        // All loops that distinguish invocations must be within that loop.
        let bound = |axis: &AxisId| matches!(site.exec(*axis), Some(Exec::Bind(level, _)) if level != Level::Workgroup);
        touch.writes
            && !depends_on.contains(&around)
            && point
            && !site.loops().map(|looped| looped.axis).any(|axis| outer(&axis) && bound(&axis))
    }

    /// True if an element determines the invocation that writes it.
    fn written_by_one(&self, (site, touch): Access<'_>) -> bool {
        let told = self.tellers(site, &touch.index);
        touch.writes && told.iter().map(|(_, _, count)| count).product::<i64>() == self.invocations()
    }

    /// True if an element determines the invocation that accesses it, and both accesses agree on that invocation.
    fn same_invocation(&self, first: Access<'_>, second: Access<'_>) -> bool {
        self.told_by_both(first, second, |_| true) == self.invocations()
    }

    /// True if guarded loops of extent 1 restrict a leaf to the first invocation.
    fn is_of_first(&self, site: &Site<'_>) -> bool {
        let mut held: BTreeSet<(Level, Slot, i64)> = BTreeSet::new();
        for looped in site.loops() {
            if let Exec::Bind(level, slot) = looped.exec
                && level != Level::Workgroup
                && self.literal(looped.axis) == Some(1)
                && self.guarded(looped.axis, site)
                && let Some(width) = self.width(level, slot)
            {
                held.insert((level, self.same_slot(slot), width));
            }
        }
        held.iter().map(|(_, _, width)| width).product::<i64>() >= self.invocations()
    }

    /// True if an element determines the subgroup that accesses it, and both accesses agree on that subgroup.
    fn same_subgroup(&self, first: Access<'_>, second: Access<'_>) -> bool {
        let size = self.profile.subgroup.map_or(0, i64::from);
        size > 0 && self.told_by_both(first, second, |level| level == Level::Subgroup) * size == self.invocations()
    }

    /// Returns the number of invocations, or subgroups, that the indices of both accesses distinguish in the same way.
    fn told_by_both(&self, first: Access<'_>, second: Access<'_>, counts: impl Fn(Level) -> bool) -> i64 {
        let mut told: BTreeSet<(Level, Slot, i64)> = BTreeSet::new();
        // Out-of-bounds reads are clamped to the end, so equal indices count for two writes only.
        if first.1.writes && second.1.writes {
            let pairs = first.1.index.iter().zip(&second.1.index);
            let alike: Vec<ExprId> = pairs.filter(|(a, b)| a == b).map(|(a, _)| *a).collect();
            let (here, there) = (self.tellers(first.0, &alike), self.tellers(second.0, &alike));
            told.extend(here.intersection(&there).filter(|slot| counts(slot.0)));
        }
        for (a, b) in first.1.index.iter().zip(&second.1.index) {
            let teller = |site, index| self.teller(site, index, &counts);
            let (Some(a), Some(b)) = (teller(first.0, *a), teller(second.0, *b)) else { continue };
            if a == b {
                told.insert(a.0);
            }
        }
        told.iter().map(|(_, _, count)| count).product()
    }

    /// Returns the slots, with their counts, whose values an element determines.
    fn tellers(&self, site: &Site<'_>, index: &[ExprId]) -> BTreeSet<(Level, Slot, i64)> {
        let bound = |axis: AxisId| match site.exec(axis)? {
            Exec::Bind(level, at) if level != Level::Workgroup => {
                Some((level, self.same_slot(at), self.width(level, at).or(self.literal(axis))?))
            }
            _ => None,
        };
        self.told(site, index).into_iter().filter_map(bound).collect()
    }

    /// Returns the slot whose value is the index divided by a number and rounded down, with the slot's count and the number. Only the
    /// levels in `counts` are considered.
    pub(super) fn teller(
        &self,
        site: &Site<'_>,
        index: ExprId,
        counts: &impl Fn(Level) -> bool,
    ) -> Option<((Level, Slot, i64), i64)> {
        let mut sum = self.sum(index);
        let (mut slot, mut below) = (None, 0);
        while let Some((axis, times)) = sum.axes.pop_first() {
            match (&self.program.axes[axis].fate, site.exec(axis)) {
                // The lane does not change the subgroup.
                (_, Some(Exec::Bind(Level::Lane, _))) if times > 0 && !counts(Level::Lane) => {
                    below += times * (self.literal(axis)? - 1)
                }
                (_, Some(Exec::Bind(level, at))) if slot.is_none() && counts(level) && level != Level::Workgroup => {
                    let count = self.width(level, at).or(self.literal(axis))?;
                    slot = Some(((level, self.same_slot(at), count), times));
                }
                (Fate::Split(split), None) if split.shifted().is_none() => {
                    let mut later = times;
                    for part in split.parts.iter().rev() {
                        *sum.axes.entry(*part).or_default() += later;
                        later *= self.literal(*part)?;
                    }
                }
                (_, Some(Exec::Serial | Exec::Unroll | Exec::Lanes | Exec::Dot | Exec::Matrix(_))) if times > 0 => {
                    below += times * (self.literal(axis)? - 1)
                }
                // A shifted tile stays within its axis.
                (Fate::Split(split), None)
                    if times > 0 && split.exact && self.running_past(&[self.provers.value(axis)], site).is_empty() =>
                {
                    below += times * (self.literal(axis)? - 1);
                }
                // The axis counts elements of a matrix.
                (Fate::Live, None) if times > 0 => below += times * (self.literal(axis)? - 1),
                _ => return None,
            }
        }
        let (slot, times) = slot?;
        (sum.rest.is_empty() && sum.constant >= 0 && below + sum.constant < times).then_some((slot, times))
    }

    fn hazard(&self, first: Access<'_>, second: Access<'_>, after: After) {
        let (earlier, later, name) = (self.line(first.0), self.line(second.0), self.buffer(first.1.buffer));
        let how = match (first.1.writes, second.1.writes) {
            (true, false) => "reads an element that another invocation writes",
            (false, true) => "overwrites an element that another invocation reads",
            _ => "overwrites an element that another invocation writes",
        };
        let when = match after {
            After::Same => String::new(),
            After::Next(axis) | After::Later(axis) => format!(", an iteration of `{}` later", self.name(axis)),
        };
        let error = Error::new(second.0.span(), format!("{}: in `{name}`, `{later}` {how}{when}", Rule::Barrier));
        let error = error.note_at(first.0.span(), format!("the other access is `{earlier}`, and no barrier separates them"));
        self.error(error);
    }
}
