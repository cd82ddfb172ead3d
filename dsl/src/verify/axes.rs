//! Axes: the loops around a leaf bind every part of each axis that it names, once; splits and fusions agree with the extents of their
//! parts.

use super::Rule;
use super::context::{Checks, MadeOf};
use super::site::Site;
use crate::diag::Error;
use crate::expr::{Binary, Expr, ExprId};
use crate::facts::{Poly, Prover};
use crate::nest::{AxisDef, AxisId, Body, Exec, Fate, How, NodeKind, Phase, Space, Split};
use std::collections::BTreeSet;
use tilewright_launch::Relation;

impl<'v> Checks<'v> {
    /// All of it.
    pub(super) fn axes(&self) {
        let mut used = BTreeSet::new();
        let mut loops = BTreeSet::new();
        for site in self.sites {
            self.bound_once(site);
            used.extend(self.rebuilt(site));
            self.reaches_all(site);
            self.runs_at_all(site);
            for (depth, around) in site.around.iter().enumerate() {
                if loops.insert(std::ptr::from_ref(around.node) as usize) {
                    self.extent_is_known(site, depth);
                }
            }
        }
        used.into_iter().for_each(|axis| self.split_is_true(axis));
    }

    /// No axis is bound twice on the way to a leaf, neither as it is nor as parts of it.
    fn bound_once(&self, site: &Site<'_>) {
        let mut seen: BTreeSet<AxisId> = BTreeSet::new();
        for looped in site.loops() {
            if !seen.insert(looped.axis) {
                let name = self.name(looped.axis);
                self.refuse(Rule::Axes, site.span(), format!("two loops bind `{name}` around `{}`", self.line(site)));
            }
        }
        for looped in site.loops() {
            let parts = match &self.program.axes[looped.axis].fate {
                Fate::Live => continue,
                Fate::Split(split) => split.parts.clone(),
                Fate::Fused { into, .. } => vec![*into],
            };
            let leaves = self.made_of(parts, site).leaves;
            if let Some(part) = leaves.into_iter().find(|leaf| *leaf != looped.axis && site.binds(*leaf)) {
                let (name, part) = (self.name(looped.axis), self.name(part));
                let what = format!("loops bind both `{name}` and `{part}`, which is a part of it, around `{}`", self.line(site));
                self.refuse(Rule::Axes, site.span(), what);
            }
        }
    }

    /// Everything that the leaf names is made of what is bound. Gives the splits between.
    fn rebuilt(&self, site: &Site<'_>) -> BTreeSet<AxisId> {
        let mut named = self.named(&site.exprs());
        named.extend(site.preds().iter().map(|pred| pred.axis));
        named.extend(self.reduced(site));
        let made = self.made_of(named, site);
        for leaf in made.leaves {
            if site.binds(leaf) || self.is_one(leaf) {
                continue;
            }
            let (name, extent) = (self.name(leaf), self.printer.expr(self.extent(leaf)));
            let what = format!("`{}` needs `{name}` of 0..{extent}, and no loop around it binds it", self.line(site));
            let error = Error::new(site.span(), format!("{}: {what}", Rule::Axes));
            self.error(error.note_at(self.program.axes[leaf].span, format!("`{name}` was made here")));
        }
        made.consumed
    }

    /// What is written to device memory is written for all values of the axes that index it; in place and by atomics, once.
    fn reaches_all(&self, site: &Site<'_>) {
        let written = || site.touches.iter().filter(|touch| touch.writes && self.space(touch.buffer).is_global());
        let named = self.named(&written().flat_map(|touch| touch.index.clone()).collect::<Vec<_>>());
        let MadeOf { consumed, leaves, .. } = self.made_of(named, site);
        if let Some([a, b]) = self.entangled(&leaves, site) {
            let (line, a, b) = (self.line(site), self.name(a), self.name(b));
            self.refuse(
                Rule::Axes,
                site.span(),
                format!("`{line}` leaves out values, as `{a}` and `{b}` do not vary independently"),
            );
        }
        let adds = matches!(&site.node.kind, NodeKind::AllReduce(reduction) if reduction.how == How::Atomic);
        if adds || written().any(|touch| *self.space(touch.buffer) == Space::Update) {
            self.visits_no_twice(site, &consumed);
        }
        for axis in consumed.into_iter().filter(|axis| !self.covers(*axis)) {
            let (line, name, extent) = (self.line(site), self.name(axis), self.printer.expr(self.extent(axis)));
            self.refuse(
                Rule::Axes,
                site.span(),
                format!("`{line}` leaves out values of `{name}`, whose parts do not reach {extent}"),
            );
        }
    }

    /// What is written to device memory stands in no loop of another's that may run no iteration.
    fn runs_at_all(&self, site: &Site<'_>) {
        let stage = match &site.node.kind {
            NodeKind::Compute(compute) => compute.stage,
            NodeKind::AllReduce(reduction) => reduction.stage,
            _ => return,
        };
        let written: Vec<_> = site.touches.iter().filter(|touch| touch.writes && self.space(touch.buffer).is_global()).collect();
        // What stands within another stage's nest runs as often as that.
        if written.is_empty() || self.program.hosts.contains_key(&stage) {
            return;
        }
        let named = self.named(&written.iter().flat_map(|touch| touch.index.clone()).collect::<Vec<_>>());
        let own = self.made_of(named.into_iter().chain(self.reduced(site)), site).leaves;
        let other = site.loops().filter(|looped| !matches!(looped.exec, Exec::Bind(..)) && !own.contains(&looped.axis));
        for looped in other {
            if self.literal(looped.axis).is_none_or(|n| n <= 0) && !self.provers.roots.positive(self.extent(looped.axis)) {
                let (line, name) = (self.line(site), self.name(looped.axis));
                self.refuse(Rule::Axes, site.span(), format!("`{line}` stands in the loop over `{name}`, which may not run"));
            }
        }
    }

    /// No tile is moved back over points that another one has.
    pub(super) fn visits_no_twice(&self, site: &Site<'_>, consumed: &BTreeSet<AxisId>) {
        let shifted = |axis: &&AxisId| matches!(&self.program.axes[**axis].fate, Fate::Split(split) if split.shifted().is_some());
        if let Some(axis) = consumed.iter().find(shifted) {
            let what =
                format!("`{}` visits points of `{}` twice, whose last tile is moved back", self.line(site), self.name(*axis));
            self.refuse(Rule::Axes, site.span(), what);
        }
    }

    /// All that is left to go wrong where the last tile is moved back: it begins within the axis.
    fn begins_within(&self, axis: AxisId, split: &Split, point: AxisId) {
        let (extent, length) = (self.extent(axis), self.extent(point));
        // What the launch checks in these words is beyond the prover where it is no sum.
        let checked = self.program.conditions.iter().any(|c| c.left == extent && c.relation == Relation::Ge && c.right == length);
        if !checked && !self.provers.roots.less_equal(length, extent) && !self.provers.leaves.less_equal(length, extent) {
            let (name, length, extent) = (self.name(axis), self.printer.expr(length), self.printer.expr(extent));
            let what = format!("the last tile of `{name}`, of {length}, may begin before it, as {extent} may be less");
            self.refuse(Rule::Axes, split.span, what);
        }
    }

    /// The axes that a leaf's update visits. Of parts of an axis whose other parts are another stage's, also that axis: its
    /// points past the extent are none of the reduction's.
    pub(super) fn reduced(&self, site: &Site<'_>) -> Vec<AxisId> {
        let stage = match &site.node.kind {
            NodeKind::Compute(compute) if matches!(compute.phase, Phase::Update | Phase::Whole) => compute.stage,
            _ => return Vec::new(),
        };
        match &self.program.stages[stage].body {
            Body::Reduce { over, .. } => over.iter().copied().chain(self.program.reduced_whole(stage)).collect(),
            Body::Map(_) => Vec::new(),
        }
    }

    /// The extent of a loop is known where the loop begins.
    fn extent_is_known(&self, site: &Site<'_>, depth: usize) {
        let node = site.around[depth].node;
        let NodeKind::Loop(looped) = &node.kind else { return };
        let outside: Vec<AxisId> = site.loops_from(0).take(loops_above(site, depth)).map(|looped| looped.axis).collect();
        let leaves = self.made_of(self.named(&[self.extent(looped.axis)]), site).leaves;
        for leaf in leaves.into_iter().filter(|leaf| !outside.contains(leaf) && !self.single(*leaf)) {
            let (name, line) = (self.name(leaf), self.printer.line(node));
            self.refuse(
                Rule::Axes,
                node.span,
                format!("the extent of `{line}` depends on `{name}`, which no loop around it binds"),
            );
        }
    }

    /// How many points digits have together. Of one that can have fewer than none past the end of other axes, `whole` may take none
    /// instead. Of several it must, for their product can be positive.
    fn points(&self, prover: &Prover<'v>, digits: &[AxisId], whole: ExprId) -> Option<Poly> {
        let exprs = &self.program.exprs;
        let extents: Vec<ExprId> = digits.iter().map(|digit| self.extent(*digit)).collect();
        let names_axes = |e: ExprId| exprs.uses_axis(e, &mut |_| true);
        let negative = |e: &ExprId| names_axes(*e) && !exprs.is_never_negative(*e) && !self.provers.leaves.nonneg(*e);
        let several = extents.iter().filter(|extent| negative(extent)).count() > 1;
        let mut product = Poly::constant(1);
        for mut extent in extents {
            match self.clamped_in(whole, extent) {
                Some(clamped) => extent = clamped,
                None if several && negative(&extent) => return None,
                None => {}
            }
            product = product.mul(&prover.poly(extent)?)?;
        }
        Some(product)
    }

    /// The `max(extent, 0)` that stands in an expression.
    fn clamped_in(&self, whole: ExprId, extent: ExprId) -> Option<ExprId> {
        match self.program.exprs.get(whole) {
            Expr::Binary(Binary::Max, a, b) if *a == extent && self.program.exprs.as_int(*b) == Some(0) => Some(whole),
            Expr::Binary(Binary::Mul, a, b) => self.clamped_in(*a, extent).or_else(|| self.clamped_in(*b, extent)),
            _ => None,
        }
    }

    /// An exact split stays below its axis's extent, an inexact one reaches it; a fused axis is the product.
    fn split_is_true(&self, axis: AxisId) {
        let name = self.name(axis);
        match &self.program.axes[axis].fate {
            Fate::Split(split) if split.exact => {
                if let Some([_, point]) = split.shifted() {
                    self.begins_within(axis, split, point);
                } else if !self.stays_within(axis, &split.parts) {
                    let extent = self.printer.expr(self.extent(axis));
                    self.refuse(Rule::Axes, split.span, format!("the split of `{name}` is called exact, and can pass {extent}"));
                }
            }
            Fate::Split(split) => {
                if !self.covers(axis) {
                    let extent = self.printer.expr(self.extent(axis));
                    self.refuse(Rule::Axes, split.span, format!("the parts of `{name}` are not proved to reach {extent}"));
                }
            }
            Fate::Fused { into, span, .. } => {
                let AxisDef::Fused(digits) = &self.program.axes[*into].def else { return };
                let is_whole = |prover: &Prover<'v>| {
                    self.points(prover, digits, self.extent(*into)).is_some_and(|whole| prover.equal(self.extent(*into), &whole))
                };
                // Either view: what an extent names counts as clamped.
                if !is_whole(&self.provers.leaves) && !is_whole(&self.provers.roots) {
                    let into = self.name(*into);
                    self.refuse(Rule::Axes, *span, format!("`{into}` is not as long as the product of what was fused into it"));
                }
            }
            Fate::Live => {}
        }
    }
}

/// How many loops stand above a depth.
fn loops_above(site: &Site<'_>, depth: usize) -> usize {
    site.around[..depth].iter().filter(|around| matches!(around.node.kind, NodeKind::Loop(_))).count()
}
