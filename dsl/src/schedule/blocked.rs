//! Blocked sums: `rfactor(k_o => part); compute_at(part, k_o, to: register)`. The partial results are computed where they are reduced, so a
//! sum of `C` items in blocks of `B` has `B` additions one after another, then `C / B` of blocks: it rounds less, and what has the
//! block's size alone (registers, fragments) is free between blocks.
//!
//! What `rfactor` makes reduces over parts of an axis whose other parts are another stage's. What is placed is defined by itself instead: over
//! axes of its own, with items past the end of the whole axis masked by the identity.

use super::pack::rewrite::guard;
use crate::expr::{Compare, ExprId};
use crate::nest::points::both;
use crate::nest::{Axis, AxisDef, AxisId, Body, Fate, Program, StageId};
use std::collections::{HashMap, HashSet};

/// Rewrites a stage of partial results onto axes of its own, if it is not yet.
pub(super) fn define_alone(program: &mut Program, part: StageId) {
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

/// Where a stage's items are within the ranges that their axes are parts of; `None`: everywhere.
fn within(program: &Program, stage: StageId) -> Option<ExprId> {
    let mut inside = None;
    for pred in program.stage_predicates(stage) {
        let here = program.exprs.compare(Compare::Lt, program.exprs.axis(pred.axis), program.axes[pred.axis].extent);
        inside = Some(both(&program.exprs, inside, here));
    }
    inside
}
