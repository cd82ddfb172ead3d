//! Splits loops around masks: the first iterations, in which all tiles of a workgroup are entirely inside, get a loop of their own without
//! the masks.
//!
//! The comparison of a mask moves by fixed steps along the axes of a tile, its subgroups and the loop. So it holds for all elements up to
//! some iteration, which is the same for a whole workgroup. A driver can reorder instructions only between branches. So it can reorder
//! these iterations as freely as if the loop had no mask.

use super::masks::{Comparison, comparisons, cuts_masks};
use crate::Result;
use crate::context::BlockContext;
use tilewright_codegen::values::ValueId;
use tilewright_dsl::expr::{Binary, Compare, ExprId};
use tilewright_dsl::nest::{AxisId, Block, Exec, Level, Loop, NodeKind, Program};

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

impl WholeIterations {
    /// Returns the iterations of a serial loop of `extent` iterations in which masks hold for all elements.
    pub(crate) fn of(ctx: &mut BlockContext<'_>, l: &Loop, extent: ValueId) -> Result<Option<WholeIterations>> {
        if !ctx.resolver.uses.matrices || !cuts_masks(ctx.profile) {
            return Ok(None);
        }
        let mut walk = MaskWalk { axes: Vec::new(), is_fixed: true, in_matrices: false, found: Vec::new() };
        walk.block(ctx.program, &l.body);
        if walk.found.is_empty() {
            return Ok(None);
        }
        let most = ctx.resolving(|r| r.extent(l.axis))?;
        let most = [most, extent].map(|n| ctx.resolver.values.node(n).range.1).into_iter().min();
        let Some(most) = most.and_then(|n| u32::try_from(n).ok()) else { return Ok(None) };
        let (mut conditions, mut unknown, mut fewest) = (Vec::new(), Vec::new(), None);
        for Masked { axes, masks } in walk.found {
            for mask in masks {
                let count = match &axes {
                    Some(axes) => ctx.holds_for(&mask, (l.axis, most), axes)?,
                    None => None,
                };
                let Some(count) = count else {
                    unknown.push(mask.cond);
                    continue;
                };
                fewest = Some(fewest.map_or(count, |fewest| ctx.resolver.values.extreme(Binary::Min, fewest, count)));
                conditions.push((mask.cond, count));
            }
        }
        conditions.retain(|(cond, _)| !unknown.contains(cond));
        let Some(count) = fewest.filter(|_| !conditions.is_empty()) else { return Ok(None) };
        let ending = conditions.iter().filter(|(_, own)| *own == count).map(|(cond, _)| *cond).collect();
        Ok(Some(WholeIterations { count, conditions: conditions.into_iter().map(|(cond, _)| cond).collect(), ending }))
    }
}

impl MaskWalk {
    /// Collects the masks of computes over matrices.
    fn block(&mut self, program: &Program, block: &Block) {
        for node in block {
            match &node.kind {
                NodeKind::Alloc { body, .. } => self.block(program, body),
                NodeKind::Branch { then, other, .. } => {
                    self.block(program, then);
                    self.block(program, other);
                }
                NodeKind::Loop(l) => self.loop_node(program, l),
                NodeKind::Compute(c) if self.in_matrices => {
                    let masks: Vec<_> = c.value.iter().flat_map(|value| comparisons(program, *value, &self.axes)).collect();
                    if !masks.is_empty() {
                        self.found.push(Masked { axes: self.is_fixed.then(|| self.axes.clone()), masks });
                    }
                }
                _ => {}
            }
        }
    }

    fn loop_node(&mut self, program: &Program, l: &Loop) {
        let before = (self.is_fixed, self.in_matrices);
        let extent = program.exprs.as_int(program.axes[l.axis].extent).and_then(|n| u32::try_from(n).ok());
        let counts_all =
            matches!(l.exec, Exec::Matrix(_) | Exec::Unroll | Exec::Bind(Level::Thread | Level::Subgroup | Level::Lane, _));
        self.is_fixed &= counts_all && extent.is_some();
        self.in_matrices |= matches!(l.exec, Exec::Matrix(_));
        self.axes.push((l.axis, extent.unwrap_or(0)));
        self.block(program, &l.body);
        self.axes.pop();
        (self.is_fixed, self.in_matrices) = before;
    }
}

impl BlockContext<'_> {
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
