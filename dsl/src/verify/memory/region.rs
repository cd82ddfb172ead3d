//! Computes the elements that an access covers: in every dimension a dense range whose start is the same for reader and writer.
//!
//! An index is a sum of multiples of axes. The axes that vary only for the writer are *free*: together they must reach every element of a
//! range. The rest of the sum is the same for the reader, which must stay within the range.

use super::bounds;
use crate::expr::linear::Linear;
use crate::expr::{Expr, ExprId};
use crate::facts::{Poly, Prover};
use crate::nest::{AxisId, AxisKind, Exec, Fate, Level, NodeKind, Phase, Pred, Slot, Space};
use crate::verify::context::{Checks, MadeOf};
use crate::verify::site::{Site, SiteAccess};
use std::collections::BTreeMap;

/// A range of one dimension: `width` elements from a fixed place.
#[derive(Debug)]
struct Range {
    from: Linear,
    width: i64,
    free: Vec<AxisId>,
}

impl Checks<'_> {
    /// Returns an index as a linear sum of axes.
    pub(in crate::verify) fn sum(&self, index: ExprId) -> Linear {
        self.program.exprs.linear(index)
    }

    /// True if the elements that `writer` writes include those that `reader` reads. The writer covers all iterations of its loops below
    /// `depth`, in all invocations.
    pub(in crate::verify) fn covers_read(
        &self,
        writer: (&Site<'_>, &SiteAccess),
        reader: (&Site<'_>, &SiteAccess),
        depth: usize,
    ) -> bool {
        let ((site, touch), buffer) = (writer, &self.program.buffers[writer.1.buffer]);
        let versions = usize::from(buffer.versions > 1);
        let shared = buffer.space == Space::Shared;
        if shared && !self.writes_anyway(writer, reader, depth) {
            return false;
        }
        let mut free: Vec<AxisId> = Vec::new();
        for dimension in 0..buffer.shape.len() {
            let at = dimension + versions;
            let (Some(to), Some(from)) = (touch.index.get(at), reader.1.index.get(at)) else { return false };
            if !shared && self.is_owner(site, *to) && self.is_owner(reader.0, *from) {
                continue;
            }
            let Some(range) = self.range(site, *to, depth) else { return false };
            if range.free.iter().any(|axis| free.iter().any(|other| self.is_made_of(site, *axis, *other))) {
                return false;
            }
            free.extend(&range.free);
            if self.entangled(&self.made_of(free.iter().copied(), site).leaves, site).is_some() {
                return false;
            }
            // A clamped index, or one that data choose, can be anywhere in the buffer. `bounds` checks that it is inside.
            let reach = range.from.constant + range.width;
            let is_all = range.from.is_constant() && range.from.constant <= 0;
            if is_all && self.program.exprs.as_int(buffer.shape[dimension]).is_some_and(|n| reach >= n) {
                continue;
            }
            let is_clamped = bounds::sides(reader.1, dimension) != (true, true);
            if is_clamped || !self.holds(&[*from], reader.0, |prover| within(self, prover, &range, *from)) {
                return false;
            }
        }
        true
    }

    /// True if the writer's predicates exclude no element that the reader reads. Each predicate must be on the writer's own loops, or the
    /// reader must have it too.
    fn writes_anyway(&self, writer: (&Site<'_>, &SiteAccess), reader: (&Site<'_>, &SiteAccess), depth: usize) -> bool {
        // Predicates on a reduction's own axes exclude items, not results.
        let items = |pred: &&Pred| match &writer.0.node.kind {
            NodeKind::Compute(compute) => compute.phase == Phase::Whole && self.program.axes[pred.axis].kind == AxisKind::Reduction,
            _ => false,
        };
        writer.0.preds().iter().filter(|pred| !items(pred)).all(|pred| {
            let leaves = self.made_of([pred.axis], writer.0).leaves;
            if leaves.iter().any(|leaf| self.holds_back(writer, *leaf)) {
                return false;
            }
            let own = leaves.iter().all(|leaf| self.is_own(writer.0, *leaf, depth, true) || self.single(*leaf));
            own || reader.0.preds().iter().any(|other| other.axis == pred.axis) || self.guarded_alike(writer, reader, pred.axis)
        })
    }

    /// True if a predicate that excludes invocations also excludes elements. This happens if one loop is bound to the linear index and
    /// another to a coordinate.
    fn holds_back(&self, (site, touch): (&Site<'_>, &SiteAccess), axis: AxisId) -> bool {
        let slot = |axis: AxisId| match site.exec(axis) {
            Some(Exec::Bind(level, slot)) if level != Level::Workgroup => Some(slot == Slot::Linear),
            _ => None,
        };
        let told = self.made_of(self.named(&touch.index), site).leaves;
        let Some(linear) = slot(axis).filter(|_| !told.contains(&axis)) else { return false };
        told.into_iter().any(|other| slot(other).is_some_and(|other| other != linear))
    }

    /// True if the reader has a predicate that restricts its element as the writer's does: the same value below the same extent, over other
    /// axes.
    fn guarded_alike(&self, writer: (&Site<'_>, &SiteAccess), reader: (&Site<'_>, &SiteAccess), axis: AxisId) -> bool {
        let exprs = &self.program.exprs;
        let place = |(to, from): (&ExprId, &ExprId)| match exprs.get(*to) {
            Expr::Axis(axis) => Some((*axis, *from)),
            _ => None,
        };
        let places: BTreeMap<AxisId, ExprId> = writer.1.index.iter().zip(&reader.1.index).filter_map(place).collect();
        let written = self.program.axis_value(axis, &|a| places.contains_key(&a) || writer.0.binds(a));
        let written = exprs.with_axes(written, &mut |a| places.get(&a).copied());
        let candidates: Vec<(AxisId, ExprId)> = reader
            .0
            .preds()
            .iter()
            .filter(|pred| self.provers.leaves.equal(self.extent(pred.axis), self.extent(axis)))
            .map(|pred| (pred.axis, self.program.axis_value(pred.axis, &|a| reader.0.binds(a))))
            .collect();
        // More facts can make the equality harder to prove.
        let equal = |leaves: &Prover<'_>| candidates.iter().any(|(_, read)| leaves.equal(*read, written));
        equal(&self.provers.leaves) || equal(&self.provers.leaves.without_facts())
    }

    fn is_owner(&self, site: &Site<'_>, index: ExprId) -> bool {
        match self.program.exprs.get(index) {
            Expr::Axis(axis) => matches!(site.exec(*axis), Some(Exec::Bind(level, _)) if level != Level::Workgroup),
            _ => false,
        }
    }

    /// True if an axis varies for the writer alone: in its loops below `depth`, or, if the memory is shared, with its invocations.
    fn is_own(&self, site: &Site<'_>, axis: AxisId, depth: usize, shared: bool) -> bool {
        let below = site.loops_from(depth).any(|looped| looped.axis == axis);
        let invocations = matches!(site.exec(axis), Some(Exec::Bind(level, _)) if level != Level::Workgroup);
        below || (shared && invocations)
    }

    /// Returns the range of an index, or `None` if it has gaps or is not recognized.
    fn range(&self, site: &Site<'_>, index: ExprId, depth: usize) -> Option<Range> {
        let mut sum = self.sum(index);
        let shared = site.touches.iter().any(|touch| touch.writes && *self.space(touch.buffer) == Space::Shared);
        let mut from = Linear { axes: BTreeMap::new(), rest: std::mem::take(&mut sum.rest), constant: sum.constant };
        let mut steps: Vec<(i64, i64)> = Vec::new();
        let mut free = Vec::new();
        while let Some((axis, times)) = sum.axes.pop_first() {
            let made = self.made_of([axis], site);
            let varies = |leaf: &AxisId| self.is_own(site, *leaf, depth, shared);
            if made.past.is_empty() && self.is_one(axis) {
                // The axis is always 0.
                continue;
            }
            let loose: Vec<bool> = made.leaves.iter().filter(|leaf| !self.single(**leaf)).map(varies).collect();
            if loose.iter().all(|own| !own) {
                from.axes.insert(axis, times);
            } else if loose.iter().all(|own| *own) && self.reached(&made) {
                steps.push((times, self.literal(axis)?));
                free.push(axis);
            } else if let Fate::Split(split) = &self.program.axes[axis].fate
                && split.shifted().is_none()
            {
                let mut later = times;
                for part in split.parts.iter().rev() {
                    *sum.axes.entry(*part).or_default() += later;
                    later *= self.literal(*part).unwrap_or(0);
                }
            } else {
                return None;
            }
        }
        let own = |axis: AxisId| self.made_of([axis], site).leaves.into_iter().any(|leaf| self.is_own(site, leaf, depth, shared));
        if from.rest.iter().any(|(e, _)| self.named(&[*e]).into_iter().any(own)) {
            return None;
        }
        Some(Range { from, width: dense(steps)?, free })
    }

    /// True if loops reach all values of an axis through its splits.
    fn reached(&self, made: &MadeOf) -> bool {
        made.consumed.iter().all(|axis| self.covers(*axis))
    }

    /// True if one of two axes is computed from the other.
    fn is_made_of(&self, site: &Site<'_>, a: AxisId, b: AxisId) -> bool {
        let within = |a: AxisId, b: AxisId| {
            let made = self.made_of([a], site);
            let digits = |axis: AxisId| matches!(self.program.axes[axis].fate, Fate::Fused { .. });
            made.consumed.contains(&b) || (made.leaves.contains(&b) && !(digits(a) && digits(b)))
        };
        a == b || within(a, b) || within(b, a)
    }

    /// Returns a sum as a polynomial of a prover.
    pub(in crate::verify) fn poly(&self, prover: &Prover<'_>, sum: &Linear) -> Option<Poly> {
        let axes = sum.axes.iter().map(|(axis, times)| (self.provers.value(*axis), *times));
        axes.chain(sum.rest.iter().copied())
            .try_fold(Poly::constant(sum.constant), |total, (e, times)| total.add(&prover.poly(e)?.scale(i128::from(times))?))
    }
}

/// True if an element is in a range.
fn within(checks: &Checks<'_>, prover: &Prover<'_>, range: &Range, at: ExprId) -> bool {
    let offset = prover.poly(at).zip(checks.poly(prover, &range.from)).and_then(|(at, from)| at.sub(&from));
    let constant = || {
        range.from.is_constant() && prover.less_equal(range.from.constant, at) && prover.less(at, range.from.constant + range.width)
    };
    offset.is_some_and(|offset| prover.nonneg(&offset) && prover.less(&offset, range.width)) || constant()
}

/// Returns the number of elements that the steps cover, or `None` if they have gaps.
fn dense(mut steps: Vec<(i64, i64)>) -> Option<i64> {
    steps.sort();
    steps.retain(|(_, n)| *n != 1);
    steps.into_iter().try_fold(1, |width: i64, (step, n)| {
        let dense = step >= 1 && step <= width && n >= 1;
        dense.then(|| width.checked_add(step.checked_mul(n - 1)?)).flatten()
    })
}
