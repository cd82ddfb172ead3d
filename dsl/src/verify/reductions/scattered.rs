//! Checks reductions that update one element of memory for each item, at an index that the data choose.
//!
//! The index of such an update is an axis of the stage in all dimensions but some. In those, the items must be the identity except where
//! the axis equals a value, and the index must be this value, clamped to the axis. Then an item that is left out at all other elements
//! updates the only element to which it belongs. Memory must be filled with the identity before: by an earlier dispatch
//! ([`flow`](crate::verify::memory::flow)), or, for shared memory, by a leaf before the update.

use crate::expr::linear::Linear;
use crate::expr::{Binary, Compare, Expr, ExprId};
use crate::nest::{AxisId, Body, Compute, NodeKind, Phase, Space};
use crate::verify::Rule;
use crate::verify::context::Checks;
use crate::verify::site::{Role, Site, SiteAccess};
use tilewright_launch::DType;

impl Checks<'_> {
    /// Checks an update of memory.
    pub(super) fn scattered(&self, site: &Site<'_>, compute: &Compute, touch: &SiteAccess) {
        let Body::Reduce { monoid, .. } = &self.program.stages[compute.stage].body else { return };
        let exprs = &self.program.exprs;
        let line = self.line(site);
        if !self.is_visible(touch.buffer) {
            self.refuse(Rule::Reduction, site.span(), format!("`{line}` does not update memory"));
        }
        match monoid.atomic(exprs) {
            _ if compute.phase == Phase::Update => {}
            Some(feature) => feature.into_iter().for_each(|feature| self.feature(site.node, feature)),
            None => self.refuse(Rule::Limits, site.span(), format!("`{line}`: no atomic operation does this")),
        }
        if *self.space(touch.buffer) != Space::Shared {
            return;
        }
        let writes = |other: &&Site<'_>| {
            other.is_before(site) && other.touches.iter().any(|t| t.writes && t.buffer == touch.buffer && t.role != Role::Update)
        };
        let fills = |other: &Site<'_>| match &other.node.kind {
            NodeKind::Compute(fill) => fill.phase == Phase::Whole && fill.value == monoid.identity,
            _ => false,
        };
        if !self.sites.iter().rev().find(writes).is_some_and(fills) {
            let (name, monoid) = (self.buffer(touch.buffer), &monoid.name);
            let what = format!("`{name}` is not filled with the identity of `{monoid}` before `{line}`");
            self.refuse(Rule::Reduction, site.span(), what);
        }
    }

    /// True if the items of a stage, `lift`, are the identity wherever the axis of a dimension differs from an index.
    pub(in crate::verify) fn is_chosen(&self, compute: &Compute, lift: &[ExprId], dimension: usize, index: ExprId) -> bool {
        let index = self.provers.traced.value(index);
        let stage = &self.program.stages[compute.stage];
        let (Body::Reduce { monoid, .. }, Some(axis)) = (&stage.body, stage.axes.get(dimension)) else { return false };
        let exprs = &self.program.exprs;
        let Expr::Binary(Binary::Max, inner, zero) = *exprs.get(index) else { return false };
        let Expr::Binary(Binary::Min, at, last) = *exprs.get(inner) else { return false };
        let is_last = last == exprs.difference(self.extent(*axis), exprs.int(1));
        let ([item], [identity]) = (lift, monoid.identity.as_slice()) else { return false };
        let is_traced = !exprs.reads(at).iter().any(|read| self.is_untold(read.buffer, &[]));
        is_traced && exprs.as_int(zero) == Some(0) && is_last && self.is_identity_elsewhere(compute, (*item, *identity), *axis, at)
    }

    /// Returns an index of a read with an axis in place of each element that the leaf's items choose. The element is within the axis, because
    /// it is clamped to it, and `bounds` checks that the leaf writes inside of its buffer.
    pub(in crate::verify) fn over_chosen(&self, site: &Site<'_>, index: ExprId) -> ExprId {
        let NodeKind::Compute(compute) = &site.node.kind else { return index };
        let exprs = &self.program.exprs;
        let chosen = self.chosen_places(site);
        let axes = &self.program.stages[compute.stage].axes;
        exprs.replace(index, &mut |_, id| chosen.iter().find(|(_, at)| *at == id).map(|(n, _)| exprs.axis(axes[*n])))
    }

    /// Returns the dimensions of a leaf's element that its items choose, with their indices.
    pub(in crate::verify) fn chosen_places(&self, site: &Site<'_>) -> Vec<(usize, ExprId)> {
        let NodeKind::Compute(compute) = &site.node.kind else { return Vec::new() };
        let ([to], true) = (compute.dst.as_slice(), self.program.notes.scattered.contains_key(&compute.stage)) else {
            return Vec::new();
        };
        let Body::Reduce { lift, .. } = self.wanted(site, compute.stage).body else { return Vec::new() };
        let is_chosen = |(n, at): &(usize, ExprId)| self.is_chosen(compute, &lift, *n, *at);
        to.index.iter().copied().enumerate().filter(is_chosen).collect()
    }

    /// True if an item is the identity wherever an axis differs from a value.
    fn is_identity_elsewhere(&self, compute: &Compute, (item, identity): (ExprId, ExprId), axis: AxisId, at: ExprId) -> bool {
        let exprs = &self.program.exprs;
        match *exprs.get(item) {
            Expr::Select(cond, yes, no) => {
                let implies = || self.implies(compute, cond, axis, at);
                no == identity && (implies() || self.is_identity_elsewhere(compute, (yes, identity), axis, at))
            }
            Expr::Cast(_, cond) if exprs.dtype(cond) == DType::Bool => {
                matches!(exprs.get(identity), Expr::Const(zero) if zero.bits == 0) && self.implies(compute, cond, axis, at)
            }
            _ => false,
        }
    }

    /// True if an axis equals a value wherever a condition holds: the condition compares two sums whose difference has the axis once, and
    /// the difference is 0 with the value in place of the axis.
    fn implies(&self, compute: &Compute, cond: ExprId, axis: AxisId, at: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let (a, b) = match *exprs.get(cond) {
            Expr::Binary(Binary::And, a, b) => return self.implies(compute, a, axis, at) || self.implies(compute, b, axis, at),
            Expr::Compare(Compare::Eq, a, b) if exprs.dtype(a) == DType::I32 => (a, b),
            _ => return false,
        };
        let names = |e: ExprId| exprs.uses_axis(e, &mut |a| a == axis);
        let between = |a: ExprId, b: ExprId| {
            let mut sum = exprs.linear(a);
            sum.plus(&exprs.linear(b), -1).map(|()| sum)
        };
        let here = |e: ExprId| exprs.with_axes(e, &mut |a| (a == axis).then_some(at));
        let once = between(a, b).is_some_and(|sum| {
            sum.axes.get(&axis).is_some_and(|times| times.abs() == 1) && !sum.rest.iter().any(|(e, _)| names(*e))
        });
        once && !names(at) && between(here(a), here(b)).is_some_and(|sum| self.is_zero(compute, sum))
    }

    /// True if the terms of a sum cancel. One of them may be read from a copy.
    fn is_zero(&self, compute: &Compute, sum: Linear) -> bool {
        let mut terms = sum.rest;
        while let Some((term, times)) = terms.pop() {
            let is_same = |(other, n): &(ExprId, i64)| {
                let same = |a, b| self.are_same(compute, vec![(a, b)], &[]);
                *n == -times && (same(term, *other) || same(*other, term))
            };
            let Some(at) = terms.iter().position(is_same) else { return false };
            terms.remove(at);
        }
        sum.axes.is_empty() && sum.constant == 0
    }
}
