//! The end of a serial loop over part of an axis that can run past its extent.
//!
//! A guarded axis `k` of extent `C`, split into tiles `g` of 4096 points `p`, has the value `4096 g + p`. Iterations of the loop over `p` from
//! `C - 4096 g` on have every leaf's predicate on `k` false, so the loop may end there. The same holds of each loop over a part of `k`:
//! with the parts of the loops inside it counted as 0, the value is the least one that an iteration has. Lowering sets these ends
//! ([`Loop::end`]), and the verifier compares them with [`Program::end_of`].

use super::{AxisDef, AxisId, BufferId, Exec, Fate, Loop, NodeKind, Program, Space, Tail, walk};
use crate::expr::{Binary, ExprId};
use std::collections::HashSet;

/// The least value of an axis within a loop over one of its parts.
struct Least {
    /// The value of the parts that outer loops bind.
    base: ExprId,
    /// The number of points by which an iteration of the loop moves the value.
    stride: i64,
    /// The inexact axes between the axis and the loop's axis. They need predicates of their own.
    inexact: Vec<AxisId>,
}

impl Program {
    /// Returns where a serial loop inside loops over `outside` may end: the least of its extent and the ends of the guarded axes that it
    /// is part of. Returns `None` if no axis ends it.
    pub fn end_of(&self, l: &Loop, outside: &HashSet<AxisId>) -> Option<ExprId> {
        if l.exec != Exec::Serial || self.notes.pipelines.iter().any(|pipelined| pipelined.axis == l.axis) {
            return None;
        }
        let extent = self.axes[l.axis].extent;
        // The outermost part of a split is already as short as possible.
        let shorter = |whole| self.end_by(l, whole, outside).filter(|end| *end != extent);
        let ends: Vec<ExprId> = self.wholes(l.axis).into_iter().filter_map(shorter).collect();
        (!ends.is_empty()).then(|| ends.into_iter().fold(extent, |end, by| self.exprs.binary(Binary::Min, end, by)))
    }

    /// Returns the axes that `axis` is a part of, the nearest first.
    fn wholes(&self, axis: AxisId) -> Vec<AxisId> {
        let part_of = |axis: &AxisId| match self.axes[*axis].def {
            AxisDef::Part { of, .. } => Some(of),
            AxisDef::Root(_) | AxisDef::Fused(_) | AxisDef::Made => None,
        };
        std::iter::successors(part_of(&axis), part_of).collect()
    }

    /// Returns the number of a loop's iterations that begin within `whole`, if all that the loop does has the predicates that say so.
    fn end_by(&self, l: &Loop, whole: AxisId, outside: &HashSet<AxisId>) -> Option<ExprId> {
        let Fate::Split(split) = &self.axes[whole].fate else { return None };
        if split.exact || !matches!(split.tail, Tail::Guard | Tail::Peel) {
            return None;
        }
        let Least { base, stride, inexact } = self.least(whole, l.axis)?;
        let extent = self.clamped_extent(whole)?;
        if !self.is_known(base, outside) || !self.is_known(extent, outside) || !self.may_end(l, &inexact) {
            return None;
        }
        let left = self.exprs.difference(extent, base);
        if stride == 1 {
            return Some(left);
        }
        let rounded = self.exprs.sum(left, self.exprs.int(stride - 1));
        Some(self.exprs.binary(Binary::FloorDiv, rounded, self.exprs.int(stride)))
    }

    /// Returns the least value of `whole` in an iteration of a loop over `part`, as a base and a stride. Other parts count as their
    /// clamped values if they are coarser than `part`, and as 0 if they are finer. Returns `None` if a tile is moved back, a stride
    /// is not a literal, or a clamped value cannot be expressed.
    fn least(&self, whole: AxisId, part: AxisId) -> Option<Least> {
        if whole == part {
            return Some(Least { base: self.exprs.int(0), stride: 1, inexact: Vec::new() });
        }
        let Fate::Split(split) = &self.axes[whole].fate else { return None };
        let at = split.parts.iter().position(|own| self.is_part_of(part, *own))?;
        if split.shifted().is_some() {
            return None;
        }
        let mut below = self.least(split.parts[at], part)?;
        let mut base = self.exprs.int(0);
        for coarser in &split.parts[..at] {
            let extent = self.axes[*coarser].extent;
            base = self.exprs.sum(self.exprs.product(base, extent), self.clamped(*coarser)?);
        }
        let extent = self.axes[split.parts[at]].extent;
        base = self.exprs.sum(self.exprs.product(base, extent), below.base);
        for finer in &split.parts[at + 1..] {
            let extent = self.axes[*finer].extent;
            base = self.exprs.product(base, extent);
            below.stride = below.stride.checked_mul(self.exprs.as_int(extent).filter(|n| *n > 0)?)?;
        }
        below.base = base;
        if !split.exact {
            below.inexact.push(whole);
        }
        Some(below)
    }

    /// True if `part` is `whole`, or made of it by splits alone.
    fn is_part_of(&self, part: AxisId, whole: AxisId) -> bool {
        part == whole || self.wholes(part).contains(&whole)
    }

    /// True if loops over `outside` bind all axes that an expression depends on.
    fn is_known(&self, e: ExprId, outside: &HashSet<AxisId>) -> bool {
        self.named(e).into_iter().all(|axis| self.is_bound(axis, outside))
    }

    /// True if loops over `outside` determine the value of `axis`.
    fn is_bound(&self, axis: AxisId, outside: &HashSet<AxisId>) -> bool {
        outside.contains(&axis)
            || match &self.axes[axis].fate {
                Fate::Live => self.is_single(axis),
                Fate::Split(split) => split.parts.iter().all(|part| self.is_bound(*part, outside)),
                Fate::Fused { into, .. } => self.is_bound(*into, outside),
            }
    }

    /// True if each leaf in a loop has the predicates of `axes`, or fills registers that live within the loop. Then an iteration has
    /// no effect if one of the predicates is false everywhere.
    fn may_end(&self, l: &Loop, axes: &[AxisId]) -> bool {
        let allocated = |node: &super::Node| if let NodeKind::Alloc { buffer, .. } = node.kind { Some(buffer) } else { None };
        let own: HashSet<BufferId> = walk::nodes(&l.body).filter_map(allocated).collect();
        let is_space = |buffer: BufferId, space: Space| self.buffers[buffer].space == space;
        let mut has_predicates = false;
        let all = walk::nodes(&l.body).all(|node| match &node.kind {
            NodeKind::Loop(_) | NodeKind::Branch { .. } => true,
            NodeKind::Alloc { buffer, .. } => is_space(*buffer, Space::Register),
            NodeKind::Compute(c) => {
                let is_guarded = axes.iter().all(|axis| c.preds.iter().any(|pred| pred.axis == *axis));
                has_predicates |= is_guarded;
                let is_own = c.dst.iter().all(|place| own.contains(&place.buffer));
                !c.dst.iter().any(|place| is_space(place.buffer, Space::Shared)) && (is_own || is_guarded)
            }
            NodeKind::AllReduce(_) | NodeKind::Barrier { .. } => false,
        });
        all && has_predicates
    }
}
