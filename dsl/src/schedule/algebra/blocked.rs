//! Blocked sums: `rfactor(k_o => part); compute_at(part, k_o, to: register)`. The partial results are computed where they are
//! reduced. So a sum of `C` items in blocks of `B` does `B` additions in sequence for each block, and then `C / B` additions of
//! block sums. It rounds less, and resources that only a block needs (registers, fragments) are free between blocks.
//!
//! The stage that `rfactor` makes reduces over parts of an axis whose other parts belong to another stage. Before it is placed, it
//! is redefined over its own axes, and items beyond the end of the whole axis are replaced by the identity.

use super::pack::rewrite::guard;
use crate::expr::{Compare, ExprId};
use crate::nest::points::both;
use crate::nest::{Axis, AxisDef, AxisId, Body, Fate, Program, StageId};
use std::collections::{HashMap, HashSet};

/// Rewrites a stage of partial results onto its own axes, if it is not on them yet.
pub(in crate::schedule) fn define_alone(program: &mut Program, part: StageId) {
    let stage = program.stages[part].clone();
    let Body::Reduce { monoid, over, lift, finish } = stage.body else { return };
    if stage.axes.iter().chain(&over).all(|axis| matches!(program.axes[*axis].def, AxisDef::Root(_))) {
        return;
    }
    let inside = within(program, part);
    let leaves: HashSet<AxisId> = stage.axes.iter().chain(&over).copied().collect();
    let mut own: HashMap<AxisId, ExprId> = HashMap::new();
    let mut axes = Vec::new();
    for axis in &over {
        let Axis { name, extent, kind, span, .. } = program.axes[*axis].clone();
        let extent = program.over_leaves(extent, &leaves);
        let extent = super::winograd::stages::replaced(&program.exprs, extent, &own);
        axes.push(program.axes.push(Axis { name, extent, kind, def: AxisDef::Root(part), fate: Fate::Live, span }));
        own.insert(*axis, program.exprs.axis(axes[axes.len() - 1]));
    }
    let value = |item: ExprId, identity: ExprId| {
        let item = inside.map_or(item, |inside| program.exprs.select(inside, item, identity));
        super::winograd::stages::replaced(&program.exprs, program.over_leaves(item, &leaves), &own)
    };
    let lift = lift.into_iter().zip(&monoid.identity).map(|(item, identity)| value(item, *identity)).collect();
    program.stages[part].body = Body::Reduce { monoid, over: axes, lift, finish };
    guard(program, part);
}

/// Returns the condition that a stage's items are within the ranges that its axes are parts of, or `None` if it always holds.
fn within(program: &Program, stage: StageId) -> Option<ExprId> {
    let mut inside = None;
    for pred in program.stage_predicates(stage) {
        let here = program.exprs.compare(Compare::Lt, program.exprs.axis(pred.axis), program.axes[pred.axis].extent);
        inside = Some(both(&program.exprs, inside, here));
    }
    inside
}
