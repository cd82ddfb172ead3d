//! Masks: selections by the row and the column of an element. Their conditions are the same for all elements of most matrices.
//!
//! If the condition moves by fixed steps and holds in the corners of a tile, it holds in the whole tile. A branch computes such a tile
//! without the mask. There is one branch for all matrices of a subgroup's tile, because a driver can reorder instructions only between
//! branches.

use super::Shape;
use crate::Result;
use crate::emit::Emit;
use tilewright_codegen::BoundAxis;
use tilewright_codegen::Steps;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::{Compare, Expr, ExprId};
use tilewright_dsl::nest::{AxisId, Compute, Exec, Loop, NodeKind, Side};

/// The condition of selections in a branch that was taken because of it.
#[derive(Clone, Copy)]
pub(super) struct Mask {
    cond: ExprId,
    /// True if the condition holds for all elements in this branch, false if it may fail for some.
    everywhere: bool,
}

/// A comparison of indices, as a comparison of their difference with 0.
pub(super) struct Comparison {
    pub(super) cond: ExprId,
    pub(super) op: Compare,
    pub(super) difference: ExprId,
}

impl Mask {
    /// Returns the condition if it holds for all elements.
    pub(super) fn holds(self) -> Option<ExprId> {
        self.everywhere.then_some(self.cond)
    }
}

impl Emit<'_> {
    /// Emits loops around one compute over matrices, if it has a mask. There is code with the mask, and code for tiles that are entirely
    /// inside.
    pub(crate) fn masked_tile(&mut self, l: &Loop) -> Result<bool> {
        if !self.cuts_masks() {
            return Ok(false);
        }
        let Some((axes, compute)) = self.tile(l).filter(|_| self.matrices.mask.is_none()) else { return Ok(false) };
        for value in &compute.value {
            if let Some((cond, everywhere)) = self.mask_of(*value, &axes)? {
                self.in_both(cond, everywhere, |e| e.unroll(l))?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True if tiles that are entirely inside a mask get code of their own. CPUs, which have small subgroups, are excluded because their
    /// drivers take minutes to compile such long blocks without branches.
    pub(super) fn cuts_masks(&self) -> bool {
        self.resolver.profile.subgroup.is_none_or(|size| size >= 16)
    }

    /// Returns the axes of perfectly nested loops that are unrolled or sides of matrices, and the only compute in them.
    fn tile<'l>(&self, l: &'l Loop) -> Option<(Vec<(AxisId, u32)>, &'l Compute)> {
        let (mut looped, mut axes, mut sides) = (l, Vec::new(), 0);
        loop {
            sides += match looped.exec {
                Exec::Unroll => 0,
                Exec::Matrix(Side::Rows | Side::Columns) => 1,
                _ => return None,
            };
            let extent = self.program.exprs.as_int(self.program.axes[looped.axis].extent)?;
            axes.push((looped.axis, u32::try_from(extent).ok()?));
            match &looped.body[..] {
                [node] => match &node.kind {
                    NodeKind::Loop(inner) => looped = inner,
                    NodeKind::Compute(compute) if sides > 0 => return Some((axes, compute)),
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    /// Emits code with a mask twice: for tiles in which the condition holds for all elements, and for all others.
    pub(super) fn in_both(&mut self, cond: ExprId, everywhere: ValueId, f: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        let known = self.resolver.values.as_bool(everywhere);
        let arm = |e: &mut Self, everywhere: bool| {
            let outer = e.matrices.mask.replace(Mask { cond, everywhere });
            let result = f(e);
            e.matrices.mask = outer;
            result
        };
        if let Some(known) = known {
            return arm(self, known);
        }
        let everywhere = self.scalar(everywhere)?;
        let whole = self.region(true, |e| arm(e, true))?;
        let cut = self.region(true, |e| arm(e, false))?;
        self.function.weigh(whole.weight.saturating_add(cut.weight));
        self.select(everywhere, &whole.code, &cut.code);
        Ok(())
    }

    /// Returns the mask of a matrix's elements.
    pub(super) fn mask_at(&mut self, value: ExprId, shape: Shape) -> Result<Option<(ExprId, ValueId)>> {
        let axes: Vec<_> = shape.axes().collect();
        self.mask_of(value, &axes)
    }

    /// Returns a condition of a selection that is the same for most elements along some axes, and a value that is true if it holds for all
    /// of them. Conditions are skipped after the iterations in which they hold everywhere, because few tiles are entirely inside there.
    fn mask_of(&mut self, value: ExprId, axes: &[(AxisId, u32)]) -> Result<Option<(ExprId, ValueId)>> {
        for Comparison { cond, op, difference } in self.comparisons(value, axes) {
            match self.matrices.cut.iter().find(|(of, _)| *of == cond) {
                Some((_, true)) => return Ok(Some((cond, self.resolver.values.boolean(true)))),
                Some((_, false)) => continue,
                None => {}
            }
            // Sides that differ in the corners may be equal in between.
            if op == Compare::Ne {
                continue;
            }
            if let Some(Steps { along, .. }) = self.resolving(|r| r.affine(difference, axes))? {
                let ends: Vec<_> = along.iter().map(|step| self.last_to_hold(op, *step)).collect();
                return Ok(Some((cond, self.in_corners(cond, axes, &ends)?)));
            }
        }
        Ok(None)
    }

    /// Returns the conditions of a value's selections that compare indices along some axes.
    pub(super) fn comparisons(&self, value: ExprId, axes: &[(AxisId, u32)]) -> Vec<Comparison> {
        let exprs = &self.program.exprs;
        let mut conditions = Vec::new();
        exprs.any(value, &mut |e| {
            if let Expr::Select(cond, ..) = e {
                conditions.push(*cond);
            }
            false
        });
        let is_index = |e: ExprId| exprs.is_index(e) && exprs.reads(e).is_empty();
        let compared = |cond: ExprId| match *exprs.get(cond) {
            Expr::Compare(op, a, b) if is_index(a) && is_index(b) && axes.iter().any(|(axis, _)| self.counts(cond, *axis)) => {
                Some(Comparison { cond, op, difference: exprs.difference(a, b) })
            }
            _ => None,
        };
        conditions.into_iter().filter_map(compared).collect()
    }

    /// Returns the end of an axis at which a comparison fails first, determined by the step of the compared difference: true for the far
    /// end. `None`: it is not known.
    fn last_to_hold(&self, op: Compare, step: ValueId) -> Option<bool> {
        let grows = self.resolver.values.as_int(step)? > 0;
        match op {
            Compare::Lt | Compare::Le => Some(grows),
            Compare::Gt | Compare::Ge => Some(!grows),
            Compare::Eq | Compare::Ne => None,
        }
    }

    /// Returns a value that is true if a condition holds in the corners at these ends of the axes.
    fn in_corners(&mut self, cond: ExprId, axes: &[(AxisId, u32)], ends: &[Option<bool>]) -> Result<ValueId> {
        let mut all = self.resolver.values.boolean(true);
        let is_wanted = |corner: &u32| ends.iter().enumerate().all(|(n, end)| end.is_none_or(|far| far == (corner >> n & 1 == 1)));
        for corner in (0..1u32 << axes.len()).filter(is_wanted) {
            self.resolver.forget();
            let mut bound = Vec::new();
            for (n, (axis, length)) in axes.iter().enumerate() {
                let value = self.resolver.values.int(if corner >> n & 1 == 1 { i64::from(*length) - 1 } else { 0 });
                bound.push((*axis, self.resolver.bind(*axis, BoundAxis { value, owner: false })?));
            }
            let here = self.resolve(cond);
            for (axis, before) in bound {
                self.resolver.unbind(axis, before);
            }
            all = self.resolver.values.and(all, here?);
        }
        self.resolver.forget();
        Ok(all)
    }
}
