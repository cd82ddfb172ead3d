//! The predicates of a stage's points: every inexact axis that they depend on needs one.

use super::{AxisDef, AxisId, AxisKind, Body, Fate, Pred, Program, StageId, Tail};
use crate::expr::{Binary, Compare, ExprId};
use std::collections::HashSet;

impl Program {
    /// Returns the axes that the algorithm gave a stage: parallel axes, then reduction axes.
    pub fn root_axes(&self, stage: StageId) -> Vec<AxisId> {
        let stage = &self.stages[stage];
        let over: &[AxisId] = match &stage.body {
            Body::Map(_) => &[],
            Body::Reduce { over, .. } => over,
        };
        stage.axes.iter().chain(over).copied().collect()
    }

    /// Returns the axes that a stage begins with: the algorithm's axes, or the parts that `rfactor` made. Each part is preceded
    /// by the axes that it is a part of.
    pub fn family(&self, stage: StageId) -> Vec<AxisId> {
        let mut family = Vec::new();
        self.root_axes(stage).into_iter().for_each(|axis| self.with_whole(axis, &mut family));
        family
    }

    fn with_whole(&self, axis: AxisId, family: &mut Vec<AxisId>) {
        match &self.axes[axis].def {
            _ if family.contains(&axis) => return,
            AxisDef::Part { of, .. } => self.with_whole(*of, family),
            AxisDef::Fused(digits) => digits.iter().for_each(|digit| self.with_whole(*digit, family)),
            AxisDef::Root(_) | AxisDef::Made => {}
        }
        family.push(axis);
    }

    /// Returns the predicates of a stage's whole compute.
    pub fn stage_predicates(&self, stage: StageId) -> Vec<Pred> {
        let roots = self.root_axes(stage);
        let whole: Vec<AxisId> = self.reduced_whole(stage).into_iter().filter(|a| !roots.contains(a)).collect();
        self.predicates(&[whole, roots].concat())
    }

    /// Returns the reduction axes that `rfactor` has split between this stage and another one. The stage reduces some parts of
    /// them, or has other parts as dimensions of its partial results. These axes, too, can be past their extents.
    pub fn reduced_whole(&self, stage: StageId) -> Vec<AxisId> {
        let roots = match self.stages[stage].body {
            Body::Reduce { .. } => self.root_axes(stage),
            Body::Map(_) => Vec::new(),
        };
        let reduction = |a: &AxisId| self.axes[*a].kind == AxisKind::Reduction;
        roots.iter().flat_map(|a| self.split_ancestors(*a)).filter(reduction).collect()
    }

    /// Returns the predicates of a point of these root axes: the inexact axes, each before the axes that make it up.
    pub fn predicates(&self, roots: &[AxisId]) -> Vec<Pred> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        roots.iter().for_each(|root| self.gather(*root, &mut found, &mut seen));
        found
    }

    /// Returns an axis's extent with every axis that it names clamped to its last value, if that axis can run past its own extent.
    /// `None` if a clamped axis is a component of a fused axis, or its last tile is moved back.
    pub fn clamped_extent(&self, axis: AxisId) -> Option<ExprId> {
        let extent = self.axes[axis].extent;
        let clamped: Vec<(AxisId, ExprId)> =
            self.named(extent).into_iter().map(|axis| Some((axis, self.clamped(axis)?))).collect::<Option<_>>()?;
        Some(self.exprs.with_axes(extent, &mut |axis| clamped.iter().find(|(a, _)| *a == axis).map(|(_, value)| *value)))
    }

    /// True if the extent of an axis that the index depends on names an axis that can run past its own extent. This axis is clamped
    /// in the end of the loop but not in the index, so the relation between the two that the loop's end states does not hold in the
    /// index.
    pub fn is_clamped_apart(&self, index: ExprId) -> bool {
        let (mut open, mut seen) = (self.named(index), HashSet::new());
        while let Some(axis) = open.pop() {
            if !seen.insert(axis) {
                continue;
            }
            let ends = self.named(self.axes[axis].extent);
            if !self.predicates(&ends).is_empty() {
                return true;
            }
            open.extend(ends);
            match &self.axes[axis].fate {
                Fate::Live => {}
                Fate::Split(split) => open.extend(&split.parts),
                Fate::Fused { into, .. } => open.push(*into),
            }
        }
        false
    }

    /// Returns the axes that an expression names.
    pub fn named(&self, e: ExprId) -> Vec<AxisId> {
        let mut named = Vec::new();
        self.exprs.uses_axis(e, &mut |axis| {
            named.push(axis);
            false
        });
        named
    }

    /// Returns the clamped value of an axis.
    pub(super) fn clamped(&self, axis: AxisId) -> Option<ExprId> {
        let preds = self.predicates(&[axis]);
        let is_inexact = preds.iter().any(|pred| pred.axis == axis);
        let mut value = self.exprs.axis(axis);
        if preds.len() > usize::from(is_inexact) {
            let Fate::Split(split) = self.axes[axis].fate.clone() else { return None };
            if split.shifted().is_some() {
                return None;
            }
            value = self.exprs.int(0);
            for part in split.parts {
                let (extent, part) = (self.axes[part].extent, self.clamped(part)?);
                let scaled = self.exprs.product(value, extent);
                value = self.exprs.sum(scaled, part);
            }
        }
        if is_inexact {
            let (end, one) = (self.clamped_extent(axis)?, self.exprs.int(1));
            let last = self.exprs.difference(end, one);
            value = self.exprs.binary(Binary::Min, value, last);
        }
        Some(value)
    }

    /// Returns the condition that the tile of a split axis is full, so that the axis is in bounds at every point of the tile.
    /// `None` as for [`Program::clamped_extent`], or if the axis is not split into tiles and points by a positive literal.
    pub fn in_full_tile(&self, axis: AxisId) -> Option<ExprId> {
        let (tile, points, extent) = self.tiled(axis)?;
        let full = self.exprs.binary(Binary::FloorDiv, extent, points);
        Some(self.exprs.compare(Compare::Lt, tile, full))
    }

    /// Returns the tile of an axis, the number of points of a tile, and the axis's extent.
    fn tiled(&self, axis: AxisId) -> Option<(ExprId, ExprId, ExprId)> {
        let Fate::Split(split) = &self.axes[axis].fate else { return None };
        let [tile, point] = split.parts[..] else { return None };
        let points = self.axes[point].extent;
        if split.shifted().is_some() || self.exprs.as_int(points).is_none_or(|points| points <= 0) {
            return None;
        }
        // The tile is clamped, because reads use the clamped tile.
        Some((self.clamped(tile)?, points, self.clamped_extent(axis)?))
    }

    /// True if reads past the rounded-up end of an axis are filled. Only a reduction's reads are, because whole tiles of a
    /// parallel axis run either way. A part of an axis takes the identity instead, because an index past the end of the part need
    /// not be past the end of its axis.
    pub fn can_fill(&self, axis: AxisId) -> bool {
        let axis = &self.axes[axis];
        axis.kind == AxisKind::Reduction && !matches!(axis.def, AxisDef::Part { .. })
    }

    fn gather(&self, axis: AxisId, found: &mut Vec<Pred>, seen: &mut HashSet<AxisId>) {
        if !seen.insert(axis) {
            return;
        }
        match &self.axes[axis].fate {
            Fate::Live => {}
            Fate::Fused { into, .. } => self.gather(*into, found, seen),
            Fate::Split(split) => {
                if !split.exact {
                    let fills = split.tail == Tail::RoundUp && self.can_fill(axis);
                    found.push(Pred { axis, tail: if fills { Tail::RoundUp } else { Tail::Guard } });
                }
                split.parts.iter().for_each(|part| self.gather(*part, found, seen));
            }
        }
    }
}
