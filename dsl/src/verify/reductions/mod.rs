//! Checks that the init, update and finish of a reduction are correctly placed.
//!
//! - An init writes the identity, outside the loops of the reduction (or the accumulator's scope is inside them too).
//! - Every loop between init and update belongs to the reduction or selects another element, so each point is visited once.
//! - The result of every update is read.
//! - A finish is outside the loops of the reduction. If these are bound to invocations or workgroups, each holds only a partial result, and
//!   all-reduces over exactly those axes must come first ([`all_reduces`](all_reduces)).

mod all_reduces;
mod fills;
mod predicates;
mod running;
mod scattered;

use super::Rule;
use super::context::{Checks, MadeOf};
use super::site::{Role, Site, SiteAccess};
use crate::diag::Error;
use crate::expr::Expr;
use crate::nest::{AxisId, Body, BufferId, Exec, Loop, NodeKind, Phase, Side, StageId};
use std::collections::{BTreeSet, HashMap};

/// For each accumulator, the axes over which it is partial. These axes are bound to invocations or workgroups, or are columns of matrices.
pub(super) type Partial = HashMap<BufferId, BTreeSet<AxisId>>;

impl Checks<'_> {
    /// Checks all reductions of the dispatch.
    pub(super) fn reductions(&self) {
        let mut partial = Partial::new();
        let updated: BTreeSet<StageId> = self
            .sites
            .iter()
            .filter_map(|site| phase(site).filter(|p| matches!(p.1, Phase::Update | Phase::Atomic)))
            .map(|p| p.0)
            .collect();
        for site in self.sites {
            if let Some((stage, Phase::Init | Phase::Resume | Phase::Finish)) =
                phase(site).filter(|(stage, _)| !updated.contains(stage))
            {
                let (line, name) = (self.line(site), self.stage(stage));
                self.refuse(Rule::Reduction, site.span(), format!("`{line}`, but `{name}` lacks an update"));
            }
            match phase(site) {
                Some((stage, Phase::Init)) => self.init(site, stage),
                Some((stage, Phase::Resume)) => self.resume(site, stage),
                Some((stage, Phase::Update | Phase::Atomic)) => self.update(site, stage, &mut partial),
                Some((stage, Phase::Whole)) => self.every_point(site, stage),
                Some((stage, Phase::Finish)) => self.outside_of_reduction(site, stage, "finish"),
                _ => {}
            }
        }
        for site in self.sites {
            if let NodeKind::AllReduce(reduction) = &site.node.kind {
                self.all_reduce(site, reduction, &mut partial);
            }
        }
        for site in self.sites {
            for stage in self.results(site) {
                self.outside_of_reduction(site, stage, "end");
            }
            if !matches!(site.node.kind, NodeKind::AllReduce(_)) {
                site.touches.iter().for_each(|touch| self.complete(site, touch, &partial));
            }
        }
    }

    /// Returns the reductions whose results a leaf reads from their accumulators.
    fn results(&self, site: &Site<'_>) -> BTreeSet<StageId> {
        let ends: Vec<BufferId> = site.touches.iter().filter(|t| t.role == Role::Finish).map(|t| t.buffer).collect();
        let updates = |other: &&Site<'_>| other.touches.iter().any(|t| t.role == Role::Update && ends.contains(&t.buffer));
        self.sites.iter().filter(updates).filter_map(|other| phase(other).map(|(stage, _)| stage)).collect()
    }

    /// Returns the axes bound around a leaf that belong to the reduction of a stage.
    fn reduction_leaves(&self, site: &Site<'_>, stage: StageId) -> BTreeSet<AxisId> {
        match &self.program.stages[stage].body {
            Body::Reduce { over, .. } => self.made_of(over.iter().copied(), site).leaves,
            Body::Map(_) => BTreeSet::new(),
        }
    }

    fn init(&self, site: &Site<'_>, stage: StageId) {
        let Body::Reduce { monoid, .. } = &self.program.stages[stage].body else { return };
        let written = match &site.node.kind {
            NodeKind::Compute(compute) => compute.value.clone(),
            _ => return,
        };
        if monoid.identity.get(..written.len()) != Some(&written[..]) {
            let what = format!("`{}` does not write the identity of `{}`", self.line(site), monoid.name);
            self.refuse(Rule::Reduction, site.span(), what);
        }
        self.begins_outside(site, stage);
    }

    /// Checks that a reduction begins outside its own loops, or that its accumulator's scope is inside them.
    pub(super) fn begins_outside(&self, site: &Site<'_>, stage: StageId) {
        let line = self.line(site);
        let leaves = self.reduction_leaves(site, stage);
        for (depth, around) in site.around.iter().enumerate() {
            let NodeKind::Loop(looped) = &around.node.kind else { continue };
            let begins_inside = site.touches.iter().all(|touch| site.life(touch.buffer).is_some_and(|life| life > depth));
            if leaves.contains(&looped.axis) && is_loop(looped.exec) && !begins_inside {
                let (name, stage) = (self.name(looped.axis), self.stage(stage));
                let what = format!("`{line}` is nested in the loop over `{name}`, which belongs to the reduction of `{stage}`");
                self.refuse(Rule::Reduction, site.span(), what);
            }
        }
    }

    /// Checks that the parts of the reduction's axes reach every point once. If the stage has only some parts of an axis, all parts of that
    /// axis together must reach every point.
    fn every_point(&self, site: &Site<'_>, stage: StageId) {
        let Body::Reduce { over, .. } = &self.program.stages[stage].body else { return };
        self.visits_no_twice(site, &self.made_of(over.iter().copied(), site).consumed);
        let MadeOf { consumed, leaves, .. } = self.made_of(self.reduced(site), site);
        if let Some([a, b]) = self.entangled(&leaves, site) {
            let (line, a, b) = (self.line(site), self.name(a), self.name(b));
            self.refuse(
                Rule::Reduction,
                site.span(),
                format!("`{line}` does not visit every point, because `{a}` and `{b}` do not vary independently"),
            );
        }
        for axis in consumed.into_iter().filter(|axis| !self.covers(*axis)) {
            let (name, extent) = (self.name(axis), self.printer.expr(self.extent(axis)));
            let what = format!("`{}` does not visit every point: the parts of `{name}` do not reach {extent}", self.line(site));
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    fn update(&self, site: &Site<'_>, stage: StageId, partial: &mut Partial) {
        self.every_point(site, stage);
        self.is_taken(site, stage);
        self.has_every_component(site, stage);
        self.goes_on(site, stage);
        let leaves = self.reduction_leaves(site, stage);
        for touch in site.touches.iter().filter(|touch| touch.role == Role::Update) {
            if let Some(compute) = self.updates_memory(site) {
                self.scattered(site, compute, touch);
            } else {
                let bound = site.loops().filter(|looped| !is_loop(looped.exec) && leaves.contains(&looped.axis));
                let bound = bound.map(|looped| looped.axis).filter(|axis| !self.single(*axis));
                partial.entry(touch.buffer).or_default().extend(bound);
            }
            self.is_in_lanes(site, touch, &leaves);
            self.visits_once(site, touch, &leaves);
            self.updates_once(site, touch);
        }
    }

    /// Checks that each component is updated once for each point, from the state before that point. An update that only reads some
    /// components must precede the update that writes only those, within the same loops of the reduction.
    fn has_every_component(&self, site: &Site<'_>, stage: StageId) {
        let (NodeKind::Compute(compute), Body::Reduce { monoid, .. }) = (&site.node.kind, &self.program.stages[stage].body) else {
            return;
        };
        let of_first = |other: &Site<'_>, of: &Site<'_>, count: usize| match (&other.node.kind, &of.node.kind) {
            (NodeKind::Compute(first), NodeKind::Compute(all)) => {
                let leaves = self.reduction_leaves(of, stage);
                let common = other.common(of);
                let apart = |site: &Site<'_>| site.loops_from(common).any(|l| leaves.contains(&l.axis));
                first.stage == stage
                    && first.phase == Phase::Update
                    && (first.given, first.dst.len(), all.given, all.dst.len()) == (0, count, count, monoid.identity.len())
                    && first.dst.iter().zip(&all.dst).all(|(a, b)| a == b)
                    && of.is_before(other)
                    && !apart(other)
                    && !apart(of)
            }
            _ => false,
        };
        let is_whole = compute.given == 0 && compute.dst.len() == monoid.identity.len();
        let has_other = || match compute.given {
            0 => self.sites.iter().any(|all| of_first(site, all, compute.dst.len())),
            count => self.sites.iter().any(|first| of_first(first, site, count)),
        };
        let names_others = compute.given == 0
            && monoid.combine.iter().take(compute.dst.len()).any(|combined| {
                let beyond = |n: u32| n as usize >= compute.dst.len();
                self.program.exprs.any(*combined, &mut |e| matches!(e, Expr::State(n) | Expr::Item(n) if beyond(*n)))
            });
        if !is_whole && (names_others || !has_other()) {
            let (line, name) = (self.line(site), self.stage(stage));
            let what = format!("`{line}` does not update the whole state of `{name}` once, from its previous value");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// Checks that no axis of the reduction is executed in lanes, because all lanes would add to one element.
    fn is_in_lanes(&self, site: &Site<'_>, touch: &SiteAccess, leaves: &BTreeSet<AxisId>) {
        let lanes = |looped: &&Loop| looped.exec == Exec::Lanes && leaves.contains(&looped.axis) && !self.single(looped.axis);
        if let Some(looped) = site.loops().find(lanes) {
            let (line, name, buffer) = (self.line(site), self.name(looped.axis), self.buffer(touch.buffer));
            let what = format!("`{line}` adds to one element of `{buffer}` in all lanes of `{name}`");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// Checks that a finish, an all-reduce or a store reads the accumulators of an update. ([`flow`](crate::verify::memory::flow) checks that the result is
    /// written at all, unless another stage has filled it.)
    fn is_taken(&self, site: &Site<'_>, stage: StageId) {
        let updated = site.touches.iter().filter(|t| t.role == Role::Update && !self.space(t.buffer).is_global());
        let own: Vec<BufferId> = updated.map(|t| t.buffer).collect();
        let takes = |other: &Site<'_>| other.touches.iter().any(|t| !t.writes && own.contains(&t.buffer));
        let filled = |other: StageId| other != stage && self.program.stages[other].buffer == self.program.stages[stage].buffer;
        if !own.is_empty() && self.program.stages.ids().any(filled) && !self.sites.iter().any(takes) {
            let (line, name) = (self.line(site), self.stage(stage));
            self.refuse(Rule::Reduction, site.span(), format!("`{line}`, but its result of `{name}` is never read"));
        }
    }

    /// Checks that every loop between init and update belongs to the reduction or selects another element.
    fn visits_once(&self, site: &Site<'_>, touch: &SiteAccess, leaves: &BTreeSet<AxisId>) {
        let begins = |other: &&Site<'_>| {
            let is_init = |t: &SiteAccess| t.writes && t.role != Role::Update && t.buffer == touch.buffer;
            other.is_before(site) && other.touches.iter().any(is_init)
        };
        // Device memory is filled by an earlier dispatch.
        let from = match self.sites.iter().rev().find(begins) {
            Some(init) => site.common(init),
            None if self.space(touch.buffer).is_global() => 0,
            None => return,
        };
        let picks = self.made_of(self.named(&touch.index), site).leaves;
        let again = site.loops_from(from).find(|looped| {
            let bound = matches!(looped.exec, Exec::Bind(..));
            !bound && !leaves.contains(&looped.axis) && !picks.contains(&looped.axis) && !self.single(looped.axis)
        });
        if let Some(looped) = again {
            let (line, name) = (self.line(site), self.name(looped.axis));
            let what = format!("`{line}` visits each point again for every value of `{name}`");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// Checks that no other leaf visits the same points, that the result is not read before the update, and that no init overwrites the
    /// state before it is read.
    fn updates_once(&self, site: &Site<'_>, touch: &SiteAccess) {
        let does = |other: &Site<'_>, role: Role| other.touches.iter().any(|t| t.role == role && t.buffer == touch.buffer);
        let (line, name) = (self.line(site), self.buffer(touch.buffer));
        let again = |other: &&Site<'_>| does(other, Role::Update) && other.is_before(site);
        if self.sites.iter().any(|other| again(&other)) {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` visits points of `{name}` that another leaf has visited"));
        }
        let begun = |end: &Site<'_>| {
            let between = |init: &Site<'_>| does(init, Role::Init) && end.is_before(init) && init.is_before(site);
            self.sites.iter().any(between)
        };
        if self.sites.iter().any(|end| does(end, Role::Finish) && end.is_before(site) && !begun(end)) {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` follows the read of the result from `{name}`"));
        }
        let undone = |init: &&Site<'_>| {
            let read = |end: &Site<'_>| does(end, Role::Finish) && init.is_before(end) && site.is_before(end);
            does(init, Role::Init) && site.is_before(init) && self.sites.iter().any(read)
        };
        if let Some(init) = self.sites.iter().find(undone) {
            let init = self.line(init);
            self.refuse(Rule::Reduction, site.span(), format!("`{init}` overwrites the result of `{line}` before it is read"));
        }
    }

    fn outside_of_reduction(&self, site: &Site<'_>, stage: StageId, verb: &str) {
        let leaves = self.reduction_leaves(site, stage);
        let within = site.loops().find(|looped| leaves.contains(&looped.axis) && is_loop(looped.exec) && !self.single(looped.axis));
        if let Some(looped) = within {
            let (line, name, stage) = (self.line(site), self.name(looped.axis), self.stage(stage));
            let what =
                format!("the {verb} `{line}` is nested in the loop over `{name}`, which belongs to the reduction of `{stage}`");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// Checks that a leaf reads only complete results.
    fn complete(&self, site: &Site<'_>, touch: &SiteAccess, partial: &Partial) {
        let parts = partial.get(&touch.buffer).filter(|axes| !axes.is_empty());
        // A partial result may be carried over to itself.
        let own = || site.touches.iter().any(|other| other.writes && (other.buffer, &other.index) == (touch.buffer, &touch.index));
        let resumes = phase(site).is_some_and(|(_, phase)| phase == Phase::Resume) && own();
        if touch.writes || touch.role == Role::Update || resumes {
            return;
        }
        if let Some(axes) = parts {
            let names: Vec<String> = axes.iter().map(|axis| self.name(*axis)).collect();
            let (line, name, over) = (self.line(site), self.buffer(touch.buffer), names.join(", "));
            let what =
                format!("{}: `{line}` reads `{name}`, but each invocation of `{over}` has only a partial result", Rule::Reduction);
            self.error(Error::new(site.span(), what).help("combine the partial results with an all-reduce first"));
        }
    }
}

/// Returns the stage of a leaf and the phase that the leaf executes.
pub(super) fn phase(site: &Site<'_>) -> Option<(StageId, Phase)> {
    match &site.node.kind {
        NodeKind::Compute(compute) => Some((compute.stage, compute.phase)),
        _ => None,
    }
}

/// True if the iterations of a loop add to one element. Invocations and columns of matrices do not, because each has its own partial
/// result.
fn is_loop(exec: Exec) -> bool {
    !matches!(exec, Exec::Bind(..) | Exec::Matrix(Side::Columns))
}
