//! What all checks share: the program, provers, what the axes at a leaf are made of, and the text of errors.

use super::Rule;
use super::copies::Traced;
use super::local::Asked;
use super::site::Site;
use crate::arena::Id;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Compare, ExprId};
use crate::facts::{Poly, Prover};
use crate::nest::print::Printer;
use crate::nest::{Axis, AxisDef, AxisId, BufferId, Dispatch, Exec, Fate, Level, NodeKind, Program, Slot, Space};
use crate::profile::Profile;
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

/// The two views of a program's axes.
#[derive(Debug)]
pub(super) struct Provers<'v> {
    /// Every axis is within its extent: true of what is exact or has a predicate.
    pub(super) roots: Prover<'v>,
    /// Consumed axes are what loops make them, past their extents.
    pub(super) leaves: Prover<'v>,
    /// The first, of a program without facts: what the algorithm's own check proved, facts can make harder to see.
    bare: OnceCell<Prover<'v>>,
    /// What holds of an axis within its extent ([`within`]).
    within: BTreeMap<AxisId, ExprId>,
    /// The extents of axes whose parts may not reach them, over what their parts' extents name ([`reach`](super::reach)).
    pub(super) cuts: BTreeMap<AxisId, ExprId>,
    /// The axes of one part that is as long as they are.
    pub(super) aliases: BTreeSet<AxisId>,
    /// What reads copies, with the tensors behind those.
    pub(super) traced: Traced,
    /// The value of every axis, by its index.
    axes: Vec<ExprId>,
    program: &'v Program,
}

impl<'v> Provers<'v> {
    /// `axes` are the values of all axes, in order; `within` says of axes that can be past their extents that they are not.
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

    /// The second view, of points at which none of the axes that some expressions name, nor any that those are made of or end
    /// at, is past its extent.
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

    /// An axis's value.
    pub(super) fn value(&self, axis: AxisId) -> ExprId {
        self.axes[axis.index()]
    }
}

/// Of axes, what holds where they are within their extents and cannot be seen from the loops: of one whose split is not exact that it is,
/// of a fused one that none of its digits is empty.
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

/// The axes that expressions name.
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

/// The checks of one dispatch.
#[derive(Debug)]
pub(super) struct Checks<'v> {
    pub(super) program: &'v Program,
    pub(super) profile: &'v Profile,
    pub(super) provers: &'v Provers<'v>,
    pub(super) dispatch: &'v Dispatch,
    /// Invocations of a workgroup: what the dispatch says, or what its loops ask for before that is known.
    pub(super) local: [u32; 3],
    /// What its loops ask for.
    pub(super) asked: Asked,
    pub(super) sites: &'v [Site<'v>],
    pub(super) printer: Printer<'v>,
    pub(super) errors: RefCell<Errors>,
}

/// What an axis is made of at a leaf.
#[derive(Debug, Default)]
pub(super) struct MadeOf {
    /// The axes that loops (or matrices, or a copy) bind, and those that nothing does.
    pub(super) leaves: BTreeSet<AxisId>,
    /// The axes that can run past their extents: inexact splits, and axes bound to more threads than they have values.
    pub(super) past: BTreeSet<AxisId>,
    /// The consumed axes that were looked through.
    pub(super) consumed: BTreeSet<AxisId>,
}

impl<'v> Checks<'v> {
    pub(super) fn new(
        program: &'v Program,
        profile: &'v Profile,
        provers: &'v Provers<'v>,
        dispatch: &'v Dispatch,
        sites: &'v [Site<'v>],
    ) -> Checks<'v> {
        let asked = Asked::by(program, &dispatch.body, profile.subgroup);
        let local = if dispatch.local == [1, 1, 1] { asked.local } else { dispatch.local };
        let printer = Printer::new(program);
        Checks { program, profile, provers, dispatch, local, asked, sites, printer, errors: RefCell::default() }
    }

    /// Notes an error at a place; the dispatch is named in it.
    pub(super) fn refuse(&self, rule: Rule, span: SpanId, what: impl Into<String>) {
        self.error(Error::new(span, format!("{rule}: {}", what.into())));
    }

    /// Notes an error, of which more is known.
    pub(super) fn error(&self, error: Error) {
        self.errors.borrow_mut().push(error.note(format!("in the dispatch of `{}`", self.dispatch.name)));
    }

    /// The line of a leaf.
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

    /// The extent, if it is a literal.
    pub(super) fn literal(&self, axis: AxisId) -> Option<i64> {
        self.program.exprs.as_int(self.extent(axis))
    }

    /// The extent, or a bound of it.
    pub(super) fn most(&self, axis: AxisId) -> Option<i64> {
        self.literal(axis).or_else(|| self.provers.roots.upper(self.extent(axis)))
    }

    /// Whether the axis has a value, and no other: without a loop, it counts as that.
    pub(super) fn is_one(&self, axis: AxisId) -> bool {
        self.single(axis) && self.provers.roots.positive(self.extent(axis))
    }

    /// Whether the axis has one value at most.
    pub(super) fn single(&self, axis: AxisId) -> bool {
        match self.literal(axis) {
            Some(n) => n == 1,
            None => self.provers.roots.less_equal(self.extent(axis), 1),
        }
    }

    /// The axes that expressions name.
    pub(super) fn named(&self, exprs: &[ExprId]) -> BTreeSet<AxisId> {
        named(self.program, exprs)
    }

    /// What some axes are made of at a leaf.
    pub(super) fn made_of(&self, axes: impl IntoIterator<Item = AxisId>, site: &Site<'_>) -> MadeOf {
        let (mut made, mut seen) = (MadeOf::default(), BTreeSet::new());
        let mut open: Vec<AxisId> = axes.into_iter().collect();
        while let Some(axis) = open.pop() {
            if !seen.insert(axis) {
                continue;
            }
            if site.binds(axis) || site.inner.contains(&axis) {
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
                    // A later digit of one value is 0, whatever the whole is.
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

    /// Two of some leaves, if there are such, that do not vary independently: both are bound to invocations, and the coordinate of one tells
    /// of the other's. The linear index is made of all coordinates of its level, and threads of subgroups and lanes.
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

    /// Whether the axis is bound to more invocations than it has values.
    pub(super) fn has_inactive(&self, axis: AxisId, site: &Site<'_>) -> bool {
        match site.exec(axis) {
            Some(Exec::Bind(level, slot)) => self.width(level, slot).zip(self.literal(axis)).is_some_and(|(width, n)| n < width),
            _ => false,
        }
    }

    /// How many invocations, or groups of them, a slot counts.
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

    /// The slot, or the one that counts the same: of a row of invocations, x is the linear index.
    pub(super) fn same_slot(&self, slot: Slot) -> Slot {
        if slot == Slot::Linear && self.local[1..] == [1, 1] { Slot::X } else { slot }
    }

    /// Invocations of a workgroup.
    pub(super) fn invocations(&self) -> i64 {
        self.local.iter().fold(1i64, |all, n| all.saturating_mul(i64::from(*n)))
    }

    /// Whether a predicate of the leaf is on this very axis.
    pub(super) fn guarded(&self, axis: AxisId, site: &Site<'_>) -> bool {
        site.preds().iter().any(|pred| pred.axis == axis)
    }

    /// The axes in expressions that can run past their extents there, and that no predicate holds back.
    pub(super) fn running_past(&self, exprs: &[ExprId], site: &Site<'_>) -> BTreeSet<AxisId> {
        self.made_of(self.named(exprs), site).past.into_iter().filter(|past| !self.guarded(*past, site)).collect()
    }

    /// Whether the extents of axes in expressions, at any depth, name what runs past its own extent and counts as clamped
    /// there, while no predicate clamps it at the leaf: then the two values differ.
    fn is_clamped_apart(&self, exprs: &[ExprId], site: &Site<'_>) -> bool {
        let (mut open, mut seen) = (self.named(exprs), BTreeSet::new());
        while let Some(axis) = open.pop_first() {
            let made = self.made_of([axis], site);
            for part in made.leaves.into_iter().chain(made.consumed).filter(|part| seen.insert(*part)).collect::<Vec<_>>() {
                let bounds = self.named(&[self.extent(part)]);
                if self.made_of(bounds.iter().copied(), site).past.iter().any(|past| !self.guarded(*past, site)) {
                    return true;
                }
                open.extend(bounds);
            }
        }
        false
    }

    /// Whether a leaf is computed at no point, as a loop around it or a predicate leaves none: where it would read means nothing.
    pub(super) fn never_runs(&self, site: &Site<'_>) -> bool {
        let serial = site.loops().filter(|looped| !matches!(looped.exec, Exec::Bind(..))).map(|looped| looped.axis);
        let mut held = serial.chain(site.preds().iter().map(|pred| pred.axis));
        held.any(|axis| self.most(axis).is_some_and(|n| n <= 0))
    }

    /// Proves a claim about expressions at a leaf, in either view that is right there.
    pub(super) fn holds(&self, exprs: &[ExprId], site: &Site<'_>, claim: impl Fn(&Prover<'v>) -> bool) -> bool {
        let running = self.running_past(exprs, site);
        let inactive = running.iter().any(|axis| self.has_inactive(*axis, site));
        if running.is_empty() && claim(&self.provers.roots) {
            return true;
        }
        // On leaves an axis is past its extent wherever it is named.
        let clamped = || !running.is_empty() && self.clamped(exprs, site).is_some_and(|prover| claim(&prover));
        if !inactive && !self.is_clamped_apart(exprs, site) && (claim(&self.provers.leaves) || clamped()) {
            return true;
        }
        // `x[0]` names no axis: that there is an element is known from the loops around it, which run at least once.
        let around = site.loops().flat_map(|l| self.program.roots(l.axis));
        let around: Vec<AxisId> = around.chain(self.within_extents(site)).collect();
        let holds = |prover: &Prover<'v>| claim(&prover.within(around.iter().copied()));
        running.is_empty() && (holds(&self.provers.roots) || holds(self.provers.bare()))
    }

    /// The view on leaves, at points where what predicates hold back is within its extent: there it counts as clamped, while what
    /// else expressions name runs past. `None`: nothing is held back. What shares loops with another axis that is named is left as it
    /// is: where it is held back, those loops still run on.
    fn clamped(&self, exprs: &[ExprId], site: &Site<'_>) -> Option<Prover<'v>> {
        let named: Vec<AxisId> = self.named(exprs).into_iter().collect();
        let past = self.made_of(named.iter().copied(), site).past;
        let apart = |held: &AxisId| {
            let own = self.made_of([*held], site).leaves;
            named
                .iter()
                .map(|axis| (axis, self.made_of([*axis], site)))
                .all(|(axis, made)| axis == held || made.consumed.contains(held) || made.leaves.is_disjoint(&own))
        };
        let held = past.into_iter().filter(|past| self.guarded(*past, site)).filter(apart);
        let within: Vec<ExprId> = held.filter_map(|axis| self.provers.within.get(&axis).copied()).collect();
        let clamped = |prover: Prover<'v>, within: &ExprId| prover.assuming(*within, true);
        (!within.is_empty()).then(|| within.iter().fold(self.provers.leaves.within([]), clamped))
    }

    /// The axes that a leaf's stage begins with which are bound around it, and within their extents there. (The loops may bind those
    /// of another stage, which has the same points.)
    fn within_extents(&self, site: &Site<'_>) -> Vec<AxisId> {
        let NodeKind::Compute(compute) = &site.node.kind else { return Vec::new() };
        let within = |axis: &AxisId| {
            let made = self.made_of([*axis], site);
            let bound = |leaf: &AxisId| site.binds(*leaf) || self.is_one(*leaf);
            made.leaves.iter().all(bound) && made.past.iter().all(|past| self.guarded(*past, site))
        };
        self.program.family(compute.stage).into_iter().filter(within).collect()
    }

    /// The product of the extents of axes.
    pub(super) fn product(&self, prover: &Prover<'v>, axes: &[AxisId]) -> Option<Poly> {
        axes.iter().try_fold(Poly::constant(1), |product, axis| product.mul(&prover.poly(self.extent(*axis))?))
    }
}
