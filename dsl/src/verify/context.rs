//! The state that all checks share: the program, the provers, the loops that each axis is rebuilt from, and the printer for error texts.

use super::Rule;
use super::site::Site;
use super::values::copies::Traced;
use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Compare, ExprId};
use crate::facts::{Poly, Prover};
use crate::nest::print::Printer;
use crate::nest::{Axis, AxisDef, AxisId, BufferId, Compute, Dispatch, Exec, Fate, Level, NodeKind, Phase, Program, Slot, Space};
use crate::profile::Profile;
use crate::verify::loops::local::WorkgroupSize;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The two views of a program's axes.
#[derive(Debug)]
pub(super) struct Provers<'v> {
    /// Assumes that every axis is within its extent, which holds for exact splits and for axes that a predicate guards.
    pub(super) roots: Prover<'v>,
    /// Computes consumed axes (split or fused) from their loops, so they can exceed their extents.
    pub(super) leaves: Prover<'v>,
    /// Like `roots`, for the program without its facts. A claim that the algorithm's own check has proved can become harder to prove with
    /// more facts.
    bare: OnceCell<Prover<'v>>,
    /// The conditions that hold while an axis is within its extent ([`within`]).
    within: BTreeMap<AxisId, ExprId>,
    /// The extents of the axes that their parts may not reach, expressed in the axes that the parts' extents name
    /// ([`reach`](crate::verify::loops::reach)).
    pub(super) cuts: BTreeMap<AxisId, ExprId>,
    /// The axes that were split into one part of the same extent.
    pub(super) aliases: BTreeSet<AxisId>,
    /// The values that read copies, traced to the tensors that were copied.
    pub(super) traced: Traced,
    /// The value of each axis, indexed by axis.
    axes: Vec<ExprId>,
    program: &'v Program,
}

impl<'v> Provers<'v> {
    /// Creates the provers. `axes` holds the value of each axis, in order. `within` holds, for each axis that can exceed its extent, the
    /// condition that it does not.
    pub(super) fn new(
        program: &'v Program,
        axes: Vec<ExprId>,
        within: BTreeMap<AxisId, ExprId>,
        (cuts, aliases): (BTreeMap<AxisId, ExprId>, BTreeSet<AxisId>),
        traced: Traced,
    ) -> Provers<'v> {
        let (roots, leaves) = (Prover::new(program), Prover::on_leaves(program));
        Provers { roots, leaves, bare: OnceCell::new(), within, cuts, aliases, traced, axes, program }
    }

    /// Returns the `leaves` view, restricted to the points at which these axes are within their extents: all axes that `exprs` name, and
    /// all axes that those are computed from or bounded by.
    pub(super) fn inside(&self, exprs: &[ExprId]) -> Prover<'v> {
        let mut prover = Prover::on_leaves(self.program);
        let (mut open, mut seen) = (named(self.program, exprs), BTreeSet::new());
        while let Some(axis) = open.pop_first() {
            if !seen.insert(axis) {
                continue;
            }
            let axes = &self.program.axes[axis];
            open.extend(named(self.program, &[axes.extent]));
            match &axes.fate {
                Fate::Live => {}
                Fate::Fused { into, .. } => open.extend([*into]),
                Fate::Split(split) => open.extend(&split.parts),
            }
            if let Some(within) = self.within.get(&axis) {
                prover = prover.assuming(*within, true);
            }
        }
        prover
    }

    fn bare(&self) -> &Prover<'v> {
        self.bare.get_or_init(|| self.roots.without_facts())
    }

    /// Returns the value of an axis.
    pub(super) fn value(&self, axis: AxisId) -> ExprId {
        self.axes[axis.index()]
    }
}

/// Returns, per axis, the condition that holds within its extent but does not follow from the loops. For an axis with an inexact split, the
/// condition is that the axis is below its extent. For a fused axis, it is that none of its components is empty.
pub(super) fn within(program: &Program) -> BTreeMap<AxisId, ExprId> {
    let mut within = BTreeMap::new();
    for axis in program.axes.ids() {
        let Axis { extent, fate, def, .. } = program.axes[axis].clone();
        let mut known = Vec::new();
        if matches!(fate, Fate::Split(split) if !split.exact) {
            let value = program.exprs.axis(axis);
            known.push(program.exprs.compare(Compare::Lt, value, extent));
        }
        if let AxisDef::Fused(digits) = def {
            let one = program.exprs.int(1);
            let lengths = digits.into_iter().map(|digit| program.axes[digit].extent);
            let symbolic: Vec<ExprId> = lengths.filter(|length| program.exprs.as_int(*length).is_none()).collect();
            known.extend(symbolic.into_iter().map(|length| program.exprs.compare(Compare::Ge, length, one)));
        }
        if let Some(all) = known.into_iter().reduce(|all, one| program.exprs.binary(Binary::And, all, one)) {
            within.insert(axis, all);
        }
    }
    within
}

/// Returns the axes that expressions name.
fn named(program: &Program, exprs: &[ExprId]) -> BTreeSet<AxisId> {
    let mut named = BTreeSet::new();
    for expr in exprs {
        program.exprs.uses_axis(*expr, &mut |axis| {
            named.insert(axis);
            false
        });
    }
    named
}

/// The checks of one dispatch, with the errors that they have found so far.
#[derive(Debug)]
pub(super) struct Checks<'v> {
    pub(super) program: &'v Program,
    pub(super) profile: &'v Profile,
    pub(super) provers: &'v Provers<'v>,
    pub(super) dispatch: &'v Dispatch,
    /// The invocations of a workgroup in x, y and z: as the dispatch says, or as its loops require while the dispatch does not say it yet.
    pub(super) local: [u32; 3],
    /// The size of a workgroup that the dispatch's loops require.
    pub(super) asked: WorkgroupSize,
    pub(super) sites: &'v [Site<'v>],
    pub(super) printer: Printer<'v>,
    pub(super) errors: RefCell<Errors>,
}

/// The axes that the value of an axis is computed from at a leaf.
#[derive(Debug, Default)]
pub(super) struct MadeOf {
    /// The axes that are bound by loops (or by a matrix or copy), and the axes that nothing binds.
    pub(super) leaves: BTreeSet<AxisId>,
    /// The axes that can exceed their extents: those with inexact splits, and those bound to more invocations than they have values.
    pub(super) past: BTreeSet<AxisId>,
    /// The consumed (split or fused) axes that were followed to their parts.
    pub(super) consumed: BTreeSet<AxisId>,
}

impl<'v> Checks<'v> {
    /// Returns the compute of a leaf that updates memory, and not registers.
    pub(super) fn updates_memory<'p>(&self, site: &Site<'p>) -> Option<&'p Compute> {
        match &site.node.kind {
            NodeKind::Compute(c) if matches!(c.phase, Phase::Update | Phase::Atomic) => {
                (c.phase == Phase::Atomic || c.dst.iter().any(|to| self.is_visible(to.buffer))).then_some(c)
            }
            _ => None,
        }
    }

    pub(super) fn new(
        program: &'v Program,
        profile: &'v Profile,
        provers: &'v Provers<'v>,
        dispatch: &'v Dispatch,
        sites: &'v [Site<'v>],
    ) -> Checks<'v> {
        let asked = WorkgroupSize::by(program, &dispatch.body, profile.subgroup);
        let local = if dispatch.local == [1, 1, 1] { asked.local } else { dispatch.local };
        let printer = Printer::new(program);
        Checks { program, profile, provers, dispatch, local, asked, sites, printer, errors: RefCell::default() }
    }

    /// Reports an error at a place. A note names the dispatch.
    pub(super) fn refuse(&self, rule: Rule, span: SpanId, what: impl Into<String>) {
        self.error(Error::new(span, format!("{rule}: {}", what.into())));
    }

    /// Reports an error that already carries its notes.
    pub(super) fn error(&self, error: Error) {
        self.errors.borrow_mut().push(error.note(format!("in the dispatch of `{}`", self.dispatch.name)));
    }

    /// Prints a leaf as a line of the nest.
    pub(super) fn line(&self, site: &Site<'_>) -> String {
        self.printer.line(site.node)
    }

    pub(super) fn name(&self, axis: AxisId) -> String {
        self.printer.axis(axis)
    }

    pub(super) fn buffer(&self, buffer: BufferId) -> &'v str {
        &self.program.buffers[buffer].name
    }

    pub(super) fn space(&self, buffer: BufferId) -> &'v Space {
        &self.program.buffers[buffer].space
    }

    pub(super) fn extent(&self, axis: AxisId) -> ExprId {
        self.program.axes[axis].extent
    }

    /// Returns the extent of an axis if it is a literal.
    pub(super) fn literal(&self, axis: AxisId) -> Option<i64> {
        self.program.exprs.as_int(self.extent(axis))
    }

    /// Returns the extent of an axis if it is a literal, and otherwise a proved upper bound.
    pub(super) fn most(&self, axis: AxisId) -> Option<i64> {
        self.literal(axis).or_else(|| self.provers.roots.upper(self.extent(axis)))
    }

    /// True if the axis has exactly one value. It then needs no loop: its value is 0.
    pub(super) fn is_one(&self, axis: AxisId) -> bool {
        self.single(axis) && self.provers.roots.positive(self.extent(axis))
    }

    /// True if the axis has at most one value.
    pub(super) fn single(&self, axis: AxisId) -> bool {
        match self.literal(axis) {
            Some(n) => n == 1,
            None => self.provers.roots.less_equal(self.extent(axis), 1),
        }
    }

    /// Returns the axes that expressions name.
    pub(super) fn named(&self, exprs: &[ExprId]) -> BTreeSet<AxisId> {
        named(self.program, exprs)
    }

    /// Returns the axes that some axes are computed from at a leaf.
    pub(super) fn made_of(&self, axes: impl IntoIterator<Item = AxisId>, site: &Site<'_>) -> MadeOf {
        let (mut made, mut seen) = (MadeOf::default(), BTreeSet::new());
        let mut open: Vec<AxisId> = axes.into_iter().collect();
        while let Some(axis) = open.pop() {
            if !seen.insert(axis) {
                continue;
            }
            if site.binds(axis) {
                made.leaves.insert(axis);
                if self.has_inactive(axis, site) {
                    made.past.insert(axis);
                }
                continue;
            }
            match &self.program.axes[axis].fate {
                Fate::Live => {
                    made.leaves.insert(axis);
                }
                Fate::Fused { into, digit, .. } => {
                    made.consumed.insert(axis);
                    // A component after the first that has one value is 0, whatever the fused axis is.
                    if *digit == 0 || self.literal(axis) != Some(1) {
                        open.push(*into);
                    }
                }
                Fate::Split(split) => {
                    made.consumed.insert(axis);
                    if !split.exact {
                        made.past.insert(axis);
                    }
                    open.extend(&split.parts);
                }
            }
        }
        made
    }

    /// Returns two of the leaves that do not vary independently, if there are any: both are bound to invocations, and one coordinate
    /// determines a part of the other. The linear index depends on all coordinates of its level, and a thread index depends on the subgroup
    /// and lane.
    pub(super) fn entangled(&self, leaves: &BTreeSet<AxisId>, site: &Site<'_>) -> Option<[AxisId; 2]> {
        let slot = |leaf: &AxisId| match site.exec(*leaf) {
            Some(Exec::Bind(level, slot)) if level != Level::Workgroup && !self.single(*leaf) => Some((*leaf, level, slot)),
            _ => None,
        };
        let bound: Vec<(AxisId, Level, Slot)> = leaves.iter().filter_map(slot).collect();
        let tells = |a: &(AxisId, Level, Slot), b: &(AxisId, Level, Slot)| match a.1 == b.1 {
            true => a.2 == b.2 || [a.2, b.2].contains(&Slot::Linear),
            false => [a.1, b.1].contains(&Level::Thread),
        };
        let other = |n: usize, first: &(AxisId, Level, Slot)| bound[n + 1..].iter().find(|second| tells(first, second));
        bound.iter().enumerate().find_map(|(n, first)| Some([first.0, other(n, first)?.0]))
    }

    /// True if the axis is bound to more invocations than it has values, so that some of them are inactive.
    pub(super) fn has_inactive(&self, axis: AxisId, site: &Site<'_>) -> bool {
        match site.exec(axis) {
            Some(Exec::Bind(level, slot)) => self.width(level, slot).zip(self.literal(axis)).is_some_and(|(width, n)| n < width),
            _ => false,
        }
    }

    /// Returns the number of invocations (or subgroups) that a slot counts.
    pub(super) fn width(&self, level: Level, slot: Slot) -> Option<i64> {
        match (level, slot) {
            (Level::Thread, Slot::X) => Some(i64::from(self.local[0])),
            (Level::Thread, Slot::Y) => Some(i64::from(self.local[1])),
            (Level::Thread, Slot::Z) => Some(i64::from(self.local[2])),
            (Level::Thread, Slot::Linear) => Some(self.invocations()),
            (Level::Lane, _) => self.profile.subgroup.map(i64::from),
            (Level::Subgroup, Slot::Linear) => Some(self.asked.count()),
            (Level::Subgroup, _) => Some(self.asked.subgroups[slot.index()]),
            (Level::Workgroup, _) => None,
        }
    }

    /// Returns the slot, or an equivalent one: in a workgroup that is one row, x equals the linear index.
    pub(super) fn same_slot(&self, slot: Slot) -> Slot {
        if slot == Slot::Linear && self.local[1..] == [1, 1] { Slot::X } else { slot }
    }

    /// Returns the number of invocations of a workgroup.
    pub(super) fn invocations(&self) -> i64 {
        self.local.iter().fold(1i64, |all, n| all.saturating_mul(i64::from(*n)))
    }

    /// True if the leaf has a predicate on this very axis.
    pub(super) fn guarded(&self, axis: AxisId, site: &Site<'_>) -> bool {
        site.preds().iter().any(|pred| pred.axis == axis)
    }

    /// Returns the axes in expressions that can exceed their extents at a leaf and that no predicate guards.
    pub(super) fn running_past(&self, exprs: &[ExprId], site: &Site<'_>) -> BTreeSet<AxisId> {
        self.made_of(self.named(exprs), site).past.into_iter().filter(|past| !self.guarded(*past, site)).collect()
    }

    /// True if an extent in the expressions, at any depth, names an axis that can exceed its own extent. The extent counts such an axis as
    /// clamped. The leaf does not clamp it, or only where the expressions name it and not where they name its parts.
    fn is_clamped_apart(&self, exprs: &[ExprId], site: &Site<'_>) -> bool {
        let (mut open, mut seen) = (self.named(exprs), BTreeSet::new());
        while let Some(axis) = open.pop_first() {
            let made = self.made_of([axis], site);
            for part in made.leaves.into_iter().chain(made.consumed).filter(|part| seen.insert(*part)).collect::<Vec<_>>() {
                let bounds = self.named(&[self.extent(part)]);
                if !self.made_of(bounds.iter().copied(), site).past.is_empty() {
                    return true;
                }
                open.extend(bounds);
            }
        }
        false
    }

    /// True if a leaf never runs because a loop around it or a predicate has no value. Its accesses then need no check.
    pub(super) fn never_runs(&self, site: &Site<'_>) -> bool {
        let serial = site.loops().filter(|looped| !matches!(looped.exec, Exec::Bind(..))).map(|looped| looped.axis);
        let mut held = serial.chain(site.preds().iter().map(|pred| pred.axis));
        held.any(|axis| self.most(axis).is_some_and(|n| n <= 0))
    }

    /// Proves a claim about expressions at a leaf, in each view that is valid there.
    pub(super) fn holds(&self, exprs: &[ExprId], site: &Site<'_>, claim: impl Fn(&Prover<'v>) -> bool) -> bool {
        let running = self.running_past(exprs, site);
        let inactive = running.iter().any(|axis| self.has_inactive(*axis, site));
        if running.is_empty() && claim(&self.provers.roots) {
            return true;
        }
        // The `leaves` view lets an axis exceed its extent wherever the axis is named.
        let clamped = || !running.is_empty() && self.clamped(exprs, site).is_some_and(|prover| claim(&prover));
        let is_apart = || self.is_guarded_apart(exprs, site) || self.is_clamped_apart(exprs, site);
        if !inactive && !is_apart() && (claim(&self.provers.leaves) || clamped()) {
            return true;
        }
        // `x[0]` names no axis. The tensor has an element because the loops around run at least once.
        let around = site.loops().flat_map(|l| self.program.roots(l.axis));
        let around: Vec<AxisId> = around.chain(self.within_extents(site)).collect();
        let holds = |prover: &Prover<'v>| claim(&prover.within(around.iter().copied()));
        running.is_empty() && (holds(&self.provers.roots) || holds(self.provers.bare()))
    }

    /// True if the expressions name a guarded axis and another axis of the same loops. The predicate clamps the first and not the second, so
    /// the relation between the two that the loops state does not hold.
    fn is_guarded_apart(&self, exprs: &[ExprId], site: &Site<'_>) -> bool {
        let named: Vec<(AxisId, MadeOf)> = self.named(exprs).into_iter().map(|axis| (axis, self.made_of([axis], site))).collect();
        let mut past = named.iter().flat_map(|(_, made)| &made.past).filter(|past| self.guarded(**past, site));
        let apart = |held: &AxisId| {
            let own = self.made_of([*held], site).leaves;
            let shares =
                |(axis, made): &(AxisId, MadeOf)| axis != held && !made.consumed.contains(held) && !made.leaves.is_disjoint(&own);
            // A predicate on the axis of a loop clamps every axis that is computed from the loop.
            !own.contains(held) && named.iter().any(shares)
        };
        past.any(apart)
    }

    /// Returns the `leaves` view at the points where the guarded axes are within their extents. The guarded axes count as clamped, and the
    /// other axes can exceed their extents. Returns `None` if no axis is guarded.
    fn clamped(&self, exprs: &[ExprId], site: &Site<'_>) -> Option<Prover<'v>> {
        let held = self.made_of(self.named(exprs), site).past.into_iter().filter(|past| self.guarded(*past, site));
        let within: Vec<ExprId> = held.filter_map(|axis| self.provers.within.get(&axis).copied()).collect();
        let clamped = |prover: Prover<'v>, within: &ExprId| prover.assuming(*within, true);
        (!within.is_empty()).then(|| within.iter().fold(self.provers.leaves.within([]), clamped))
    }

    /// Returns the axes of a leaf's stage that are bound around it and within their extents there. (The loops may bind the axes of another
    /// stage that has the same points.)
    fn within_extents(&self, site: &Site<'_>) -> Vec<AxisId> {
        let NodeKind::Compute(compute) = &site.node.kind else { return Vec::new() };
        let within = |axis: &AxisId| {
            let made = self.made_of([*axis], site);
            let bound = |leaf: &AxisId| site.binds(*leaf) || self.is_one(*leaf);
            made.leaves.iter().all(bound) && made.past.iter().all(|past| self.guarded(*past, site))
        };
        self.program.family(compute.stage).into_iter().filter(within).collect()
    }

    /// Returns the product of the extents of axes.
    pub(super) fn product(&self, prover: &Prover<'v>, axes: &[AxisId]) -> Option<Poly> {
        axes.iter().try_fold(Poly::constant(1), |product, axis| product.mul(&prover.poly(self.extent(*axis))?))
    }
}
