//! Masks: selections by the row and the column of an element. Their conditions are the same for all elements of most matrices.
//!
//! If the condition moves by fixed steps and holds in the corners of a tile, it holds in the whole tile. A branch computes such a tile
//! without the mask. There is one branch for all matrices of a subgroup's tile, because a driver can reorder instructions only between
//! branches.

use super::coordinates::counts;
use crate::Result;
use crate::context::BlockContext;
use tilewright_codegen::values::{ValueId, Values};
use tilewright_codegen::{BoundAxis, Steps};
use tilewright_dsl::expr::{Compare, Expr, ExprId, Exprs};
use tilewright_dsl::nest::{AxisId, Compute, Exec, Loop, NodeKind, Program, Side};
use tilewright_dsl::profile::Profile;

/// The conditions of masks that the enclosing code has decided.
#[derive(Default)]
pub(crate) struct Masks {
    /// The conditions, and whether each holds for all elements here. Otherwise it may fail for some.
    decided: Vec<(ExprId, bool)>,
    /// True in the branch of a mask. Such branches are not nested.
    in_branch: bool,
}

/// A comparison of indices, as a comparison of their difference with 0.
pub(super) struct Comparison {
    pub(super) cond: ExprId,
    pub(super) op: Compare,
    pub(super) difference: ExprId,
}

impl Masks {
    /// Enters a branch that was taken because a condition holds for all elements, or because it may not.
    pub(crate) fn enter_branch(&mut self, cond: ExprId, everywhere: bool) {
        self.decided.push((cond, everywhere));
        self.in_branch = true;
    }

    pub(crate) fn leave_branch(&mut self) {
        self.decided.pop();
        self.in_branch = false;
    }

    /// Enters the iterations of a loop in which conditions hold for all elements, or the remaining ones.
    pub(crate) fn enter_part(&mut self, conditions: &[ExprId], hold: bool) {
        self.decided.extend(conditions.iter().map(|cond| (*cond, hold)));
    }

    pub(crate) fn leave_part(&mut self, conditions: &[ExprId]) {
        self.decided.truncate(self.decided.len() - conditions.len());
    }

    /// Returns the conditions that hold for all elements here.
    pub(super) fn hold(&self) -> Vec<ExprId> {
        self.decided.iter().filter(|(_, everywhere)| *everywhere).map(|(cond, _)| *cond).collect()
    }

    /// Returns a value without the masks that are known to hold.
    pub(super) fn unmasked(&self, exprs: &Exprs, mut value: ExprId) -> ExprId {
        let hold = self.hold();
        while let Expr::Select(cond, inside, _) = *exprs.get(value)
            && hold.contains(&cond)
        {
            value = inside;
        }
        value
    }

    /// Returns the mask of loops around one compute over matrices, if it has one. Then there is code with the mask, and code for tiles
    /// that are entirely inside.
    pub(crate) fn of_tile(&self, ctx: &mut BlockContext<'_>, l: &Loop) -> Result<Option<(ExprId, ValueId)>> {
        let Some((axes, compute)) = tile(ctx.program, l).filter(|_| cuts_masks(ctx.profile)) else { return Ok(None) };
        compute.value.iter().find_map(|value| self.of(ctx, *value, &axes).transpose()).transpose()
    }

    /// Returns a condition of a selection that is the same for most elements along some axes, and a value that is true if it holds for all
    /// of them. Conditions are skipped after the iterations in which they hold everywhere, because few tiles are entirely inside there.
    pub(super) fn of(
        &self,
        ctx: &mut BlockContext<'_>,
        value: ExprId,
        axes: &[(AxisId, u32)],
    ) -> Result<Option<(ExprId, ValueId)>> {
        if self.in_branch {
            return Ok(None);
        }
        for Comparison { cond, op, difference } in comparisons(ctx.program, value, axes) {
            match self.decided.iter().find(|(of, _)| *of == cond) {
                Some((_, true)) => return Ok(Some((cond, ctx.resolver.values.boolean(true)))),
                Some((_, false)) => continue,
                None => {}
            }
            // Sides that differ in the corners may be equal in between.
            if op == Compare::Ne {
                continue;
            }
            if let Some(Steps { along, .. }) = ctx.resolving(|r| r.affine(difference, axes))? {
                let ends: Vec<_> = along.iter().map(|step| last_to_hold(&ctx.resolver.values, op, *step)).collect();
                return Ok(Some((cond, ctx.in_corners(cond, axes, &ends)?)));
            }
        }
        Ok(None)
    }
}

impl BlockContext<'_> {
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

/// True if tiles that are entirely inside a mask get code of their own. CPUs, which have small subgroups, are excluded because their
/// drivers take minutes to compile such long blocks without branches.
pub(super) fn cuts_masks(profile: &Profile) -> bool {
    profile.subgroup.is_none_or(|size| size >= 16)
}

/// Returns the axes of perfectly nested loops that are unrolled or sides of matrices, and the only compute in them.
fn tile<'l>(program: &Program, l: &'l Loop) -> Option<(Vec<(AxisId, u32)>, &'l Compute)> {
    let (mut looped, mut axes, mut sides) = (l, Vec::new(), 0);
    loop {
        sides += match looped.exec {
            Exec::Unroll => 0,
            Exec::Matrix(Side::Rows | Side::Columns) => 1,
            _ => return None,
        };
        let extent = program.exprs.as_int(program.axes[looped.axis].extent)?;
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

/// Returns the conditions of a value's selections that compare indices along some axes.
pub(super) fn comparisons(program: &Program, value: ExprId, axes: &[(AxisId, u32)]) -> Vec<Comparison> {
    let exprs = &program.exprs;
    let mut conditions = Vec::new();
    exprs.any(value, &mut |e| {
        if let Expr::Select(cond, ..) = e {
            conditions.push(*cond);
        }
        false
    });
    let is_index = |e: ExprId| exprs.is_index(e) && exprs.reads(e).is_empty();
    let compared = |cond: ExprId| match *exprs.get(cond) {
        Expr::Compare(op, a, b) if is_index(a) && is_index(b) && axes.iter().any(|(axis, _)| counts(program, cond, *axis, &[])) => {
            Some(Comparison { cond, op, difference: exprs.difference(a, b) })
        }
        _ => None,
    };
    conditions.into_iter().filter_map(compared).collect()
}

/// Returns the end of an axis at which a comparison fails first, determined by the step of the compared difference: true for the far
/// end. `None`: it is not known.
fn last_to_hold(values: &Values, op: Compare, step: ValueId) -> Option<bool> {
    let grows = values.as_int(step)? > 0;
    match op {
        Compare::Lt | Compare::Le => Some(grows),
        Compare::Gt | Compare::Ge => Some(!grows),
        Compare::Eq | Compare::Ne => None,
    }
}
