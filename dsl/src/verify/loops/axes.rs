//! Axes: the loops around a leaf bind every part of each axis that it names, once; splits and fusions agree with the extents of their
//! parts.

use crate::diag::Error;
use crate::expr::{Binary, Expr, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisDef, AxisId, Body, Exec, Fate, How, NodeKind, Phase, Space, Split};
use crate::verify::Rule;
use crate::verify::context::{Checks, MadeOf};
use crate::verify::site::Site;
use std::collections::BTreeSet;
use tilewright_launch::Relation;

impl<'v> Checks<'v> {
    /// Checks the axes of every leaf and every loop.
    pub(in crate::verify) fn axes(&self) {
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

    /// Checks that the loops around a leaf bind no axis twice, neither the axis itself nor its parts.
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

    /// Checks that the loops around a leaf bind every axis that it names, or its parts. Returns the axes that are split or fused.
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

    /// Checks that a write to device memory visits all values of the axes that index it. If it updates in place or by atomics, it must
    /// visit each value once.
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
        let adds = self.updates_memory(site).is_some()
            || matches!(&site.node.kind, NodeKind::AllReduce(reduction) if reduction.how == How::Atomic);
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

    /// Checks that a write to device memory is not nested in a loop over a foreign axis that may run no iteration.
    fn runs_at_all(&self, site: &Site<'_>) {
        let stage = match &site.node.kind {
            NodeKind::Compute(compute) => compute.stage,
            NodeKind::AllReduce(reduction) => reduction.stage,
            _ => return,
        };
        let written: Vec<_> = site.touches.iter().filter(|touch| touch.writes && self.space(touch.buffer).is_global()).collect();
        // A stage that is computed within another stage's nest runs as often as that nest.
        if written.is_empty() || self.program.notes.hosts.contains_key(&stage) {
            return;
        }
        let named = self.named(&written.iter().flat_map(|touch| touch.index.clone()).collect::<Vec<_>>());
        let own = self.made_of(named.into_iter().chain(self.reduced(site)), site).leaves;
        let other = site.loops().filter(|looped| !matches!(looped.exec, Exec::Bind(..)) && !own.contains(&looped.axis));
        for looped in other {
            if self.literal(looped.axis).is_none_or(|n| n <= 0) && !self.provers.roots.positive(self.extent(looped.axis)) {
                let (line, name) = (self.line(site), self.name(looped.axis));
                self.refuse(Rule::Axes, site.span(), format!("`{line}` is in a loop over `{name}`, which may not run"));
            }
        }
    }

    /// Checks that no axis has a shifted tile, because such a tile visits some points of the tile before it again.
    pub(in crate::verify) fn visits_no_twice(&self, site: &Site<'_>, consumed: &BTreeSet<AxisId>) {
        let shifted = |axis: &&AxisId| matches!(&self.program.axes[**axis].fate, Fate::Split(split) if split.shifted().is_some());
        if let Some(axis) = consumed.iter().find(shifted) {
            let what =
                format!("`{}` visits points of `{}` twice, whose last tile is moved back", self.line(site), self.name(*axis));
            self.refuse(Rule::Axes, site.span(), what);
        }
    }

    /// Checks that the last tile of a shifted split begins within the axis.
    fn begins_within(&self, axis: AxisId, split: &Split, point: AxisId) {
        let (extent, length) = (self.extent(axis), self.extent(point));
        // The prover cannot use a condition of the launch that is not a sum, so the condition is compared literally.
        let checked =
            self.program.checks.conditions.iter().any(|c| c.left == extent && c.relation == Relation::Ge && c.right == length);
        if !checked && !self.provers.roots.less_equal(length, extent) && !self.provers.leaves.less_equal(length, extent) {
            let (name, length, extent) = (self.name(axis), self.printer.expr(length), self.printer.expr(extent));
            let what = format!("the last tile of `{name}`, of {length}, may begin before it, as {extent} may be less");
            self.refuse(Rule::Axes, split.span, what);
        }
    }

    /// Returns the axes that a leaf's update visits. If a reduction is over parts of an axis whose other parts belong to another stage,
    /// the axis is included, because its out-of-bounds points are not part of the reduction.
    pub(in crate::verify) fn reduced(&self, site: &Site<'_>) -> Vec<AxisId> {
        let stage = match &site.node.kind {
            NodeKind::Compute(compute) if matches!(compute.phase, Phase::Update | Phase::Atomic | Phase::Whole) => compute.stage,
            _ => return Vec::new(),
        };
        match &self.program.stages[stage].body {
            Body::Reduce { over, .. } => over.iter().copied().chain(self.program.reduced_whole(stage)).collect(),
            Body::Map(_) => Vec::new(),
        }
    }

    /// Checks that a loop's extent depends only on the axes of the loops around it.
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

    /// Returns the number of points of a fused axis as the product of its components' extents. An extent can be negative where other
    /// axes are out of bounds. `whole` may clamp one such extent to 0. It must clamp several of them, because their product could be
    /// positive otherwise.
    fn points(&self, digits: &[AxisId], whole: ExprId) -> Option<ExprId> {
        let exprs = &self.program.exprs;
        let extents: Vec<ExprId> = digits.iter().map(|digit| self.extent(*digit)).collect();
        let names_axes = |e: ExprId| exprs.uses_axis(e, &mut |_| true);
        let negative = |e: &ExprId| names_axes(*e) && !exprs.is_never_negative(*e) && !self.provers.leaves.nonneg(*e);
        let several = extents.iter().filter(|extent| negative(extent)).count() > 1;
        let mut product = exprs.int(1);
        for mut extent in extents {
            match self.clamped_in(whole, extent) {
                Some(clamped) => extent = clamped,
                None if several && negative(&extent) => return None,
                None => {}
            }
            product = exprs.product(product, extent);
        }
        Some(product)
    }

    /// Returns the subexpression `max(extent, 0)` of an expression.
    fn clamped_in(&self, whole: ExprId, extent: ExprId) -> Option<ExprId> {
        match self.program.exprs.get(whole) {
            Expr::Binary(Binary::Max, a, b) if *a == extent && self.program.exprs.as_int(*b) == Some(0) => Some(whole),
            Expr::Binary(Binary::Mul, a, b) => self.clamped_in(*a, extent).or_else(|| self.clamped_in(*b, extent)),
            _ => None,
        }
    }

    /// Checks that an exact split stays within its axis's extent, that an inexact split reaches it, and that the extent of a fused axis is
    /// the product of its components' extents.
    fn split_is_true(&self, axis: AxisId) {
        let name = self.name(axis);
        match &self.program.axes[axis].fate {
            Fate::Split(split) if split.exact => {
                if let Some([_, point]) = split.shifted() {
                    self.begins_within(axis, split, point);
                } else if !self.stays_within(axis, &split.parts) {
                    let extent = self.printer.expr(self.extent(axis));
                    self.refuse(Rule::Axes, split.span, format!("the split of `{name}` is called exact, but can exceed {extent}"));
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
                let points = self.points(digits, self.extent(*into));
                let is_whole = |prover: &Prover<'v>| points.is_some_and(|points| prover.equal(self.extent(*into), points));
                // Either prover may show it, because the axes in an extent count as clamped.
                if !is_whole(&self.provers.leaves) && !is_whole(&self.provers.roots) {
                    let into = self.name(*into);
                    self.refuse(Rule::Axes, *span, format!("the extent of `{into}` is not the product of its components' extents"));
                }
            }
            Fate::Live => {}
        }
    }
}

/// Returns the number of loops outside a depth.
fn loops_above(site: &Site<'_>, depth: usize) -> usize {
    site.around[..depth].iter().filter(|around| matches!(around.node.kind, NodeKind::Loop(_))).count()
}
