//! Splits loops around masks: the first iterations, in which all tiles of a workgroup are entirely inside, get a loop of their own without
//! the masks.
//!
//! The comparison of a mask moves by fixed steps along the axes of a tile, its subgroups and the loop. So it holds for all elements up to
//! some iteration, which is the same for a whole workgroup. A driver can reorder instructions only between branches. So it can reorder
//! these iterations as freely as if the loop had no mask.

use super::masks::Comparison;
use crate::Result;
use crate::emit::Emit;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::{Binary, Compare, Expr, ExprId};
use tilewright_dsl::nest::{AxisId, Block, Exec, Level, Loop, NodeKind};

/// A compute's masks, and the axes of the loops between it and the loop that is split. `None`: some of these loops do not have a fixed
/// extent.
struct Masked {
    axes: Option<Vec<(AxisId, u32)>>,
    masks: Vec<Comparison>,
}

/// The first iterations of a loop, in which masks hold for all elements.
pub(crate) struct WholeIterations {
    pub(crate) count: ValueId,
    /// The conditions that hold in them.
    pub(crate) conditions: Vec<ExprId>,
    /// The conditions that stop holding after them.
    pub(crate) ending: Vec<ExprId>,
}

/// The state of a walk from a loop to its masks.
struct MaskWalk {
    axes: Vec<(AxisId, u32)>,
    /// True if all loops on the path have fixed extents.
    is_fixed: bool,
    in_matrices: bool,
    found: Vec<Masked>,
}

impl Emit<'_> {
    /// Returns the iterations of a serial loop of `extent` iterations in which masks hold for all elements.
    pub(crate) fn whole_iterations(&mut self, l: &Loop, extent: ValueId) -> Result<Option<WholeIterations>> {
        if !self.resolver.uses.matrices || !self.cuts_masks() {
            return Ok(None);
        }
        let mut walk = MaskWalk { axes: Vec::new(), is_fixed: true, in_matrices: false, found: Vec::new() };
        self.masks_in(&l.body, &mut walk);
        if walk.found.is_empty() {
            return Ok(None);
        }
        let most = self.resolving(|r| r.extent(l.axis))?;
        let most = [most, extent].map(|n| self.resolver.values.node(n).range.1).into_iter().min();
        let Some(most) = most.and_then(|n| u32::try_from(n).ok()) else { return Ok(None) };
        let (mut conditions, mut unknown, mut fewest) = (Vec::new(), Vec::new(), None);
        for Masked { axes, masks } in walk.found {
            for mask in masks {
                let count = match &axes {
                    Some(axes) => self.holds_for(&mask, (l.axis, most), axes)?,
                    None => None,
                };
                let Some(count) = count else {
                    unknown.push(mask.cond);
                    continue;
                };
                fewest = Some(fewest.map_or(count, |fewest| self.resolver.values.extreme(Binary::Min, fewest, count)));
                conditions.push((mask.cond, count));
            }
        }
        conditions.retain(|(cond, _)| !unknown.contains(cond));
        let Some(count) = fewest.filter(|_| !conditions.is_empty()) else { return Ok(None) };
        let ending = conditions.iter().filter(|(_, own)| *own == count).map(|(cond, _)| *cond).collect();
        Ok(Some(WholeIterations { count, conditions: conditions.into_iter().map(|(cond, _)| cond).collect(), ending }))
    }

    /// Emits the iterations in which conditions hold for all elements (if `whole`), or the remaining ones.
    pub(crate) fn in_part<T>(&mut self, conditions: &[ExprId], whole: bool, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let before = self.matrices.cut.len();
        self.matrices.cut.extend(conditions.iter().map(|cond| (*cond, whole)));
        let result = f(self);
        self.matrices.cut.truncate(before);
        result
    }

    /// Returns the conditions that hold for all elements here.
    pub(super) fn hold(&self) -> Vec<ExprId> {
        let whole = self.matrices.cut.iter().filter(|(_, whole)| *whole).map(|(cond, _)| *cond);
        self.matrices.mask.and_then(super::Mask::holds).into_iter().chain(whole).collect()
    }

    /// Returns a value without the masks that are known to hold.
    pub(super) fn unmasked(&self, mut value: ExprId) -> ExprId {
        let hold = self.hold();
        while let Expr::Select(cond, inside, _) = *self.program.exprs.get(value)
            && hold.contains(&cond)
        {
            value = inside;
        }
        value
    }

    /// Collects the masks of computes over matrices.
    fn masks_in(&self, block: &Block, walk: &mut MaskWalk) {
        for node in block {
            match &node.kind {
                NodeKind::Alloc { body, .. } => self.masks_in(body, walk),
                NodeKind::Branch { then, other, .. } => {
                    self.masks_in(then, walk);
                    self.masks_in(other, walk);
                }
                NodeKind::Loop(l) => self.masks_in_loop(l, walk),
                NodeKind::Compute(c) if walk.in_matrices => {
                    let masks: Vec<_> = c.value.iter().flat_map(|value| self.comparisons(*value, &walk.axes)).collect();
                    if !masks.is_empty() {
                        walk.found.push(Masked { axes: walk.is_fixed.then(|| walk.axes.clone()), masks });
                    }
                }
                _ => {}
            }
        }
    }

    fn masks_in_loop(&self, l: &Loop, walk: &mut MaskWalk) {
        let before = (walk.is_fixed, walk.in_matrices);
        let extent = self.program.exprs.as_int(self.program.axes[l.axis].extent).and_then(|n| u32::try_from(n).ok());
        let counts_all =
            matches!(l.exec, Exec::Matrix(_) | Exec::Unroll | Exec::Bind(Level::Thread | Level::Subgroup | Level::Lane, _));
        walk.is_fixed &= counts_all && extent.is_some();
        walk.in_matrices |= matches!(l.exec, Exec::Matrix(_));
        walk.axes.push((l.axis, extent.unwrap_or(0)));
        self.masks_in(&l.body, walk);
        walk.axes.pop();
        (walk.is_fixed, walk.in_matrices) = before;
    }

    /// Returns the number of iterations of a loop, from the first on, in which a comparison holds everywhere on other axes. `None`: the
    /// number is not known, or it differs within a workgroup.
    fn holds_for(&mut self, mask: &Comparison, looped: (AxisId, u32), axes: &[(AxisId, u32)]) -> Result<Option<ValueId>> {
        // The condition is `first + steps <= room`, with signs negated for `>=` and `>`.
        let (sign, room) = match mask.op {
            Compare::Le => (1, 0),
            Compare::Lt => (1, -1),
            Compare::Ge => (-1, 0),
            Compare::Gt => (-1, -1),
            Compare::Eq | Compare::Ne => return Ok(None),
        };
        let all = [&[looped], axes].concat();
        let Some(moves) = self.resolving(|r| r.affine(mask.difference, &all))? else { return Ok(None) };
        let values = &mut self.resolver.values;
        let steps: Option<Vec<i64>> = moves.along.iter().map(|step| Some(values.as_int(*step)? * sign)).collect();
        let Some((by, others)) = steps.as_deref().and_then(<[i64]>::split_first).filter(|(by, _)| **by > 0) else {
            return Ok(None);
        };
        if values.differs_in_workgroup(moves.first) {
            return Ok(None);
        }
        let farthest: i64 = others.iter().zip(axes).map(|(step, (_, extent))| (*step).max(0) * (i64::from(*extent) - 1)).sum();
        // The number of iterations is the index of the last iteration in which it holds, plus one.
        let (room, by, one) = (values.int(room - farthest), values.int(*by), values.int(1));
        let left = if sign > 0 { values.minus(room, moves.first) } else { values.plus(room, moves.first) };
        let last = values.floor_div(left, by);
        Ok(Some(values.plus(last, one)))
    }
}
