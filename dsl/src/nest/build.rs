//! The naive nest: for every stage a dispatch of its own, one loop an axis in the order of the definition, around one
//! compute. It follows the algorithm and precedes the first directive.

use super::path::Path;
use super::{Access, AxisId, Block, Body, Compute, Dispatch, Exec, Loop, Node, NodeKind, Phase, Program, Space, StageId};
use crate::expr::ExprId;

/// Gives every stage that a result needs its naive nest, those that it reads first.
pub fn naive(program: &mut Program) {
    let mut order = Vec::new();
    let results: Vec<StageId> = program.stages.ids().filter(|s| program.is_result(*s)).collect();
    results.into_iter().for_each(|stage| visit(program, stage, &mut order));
    program.plan = order.into_iter().map(|stage| dispatch(program, stage)).collect();
}

/// Adds a stage after those that it reads. The algorithm has no cycles but updates, which read what they write.
fn visit(program: &Program, stage: StageId, order: &mut Vec<StageId>) {
    if order.contains(&stage) {
        return;
    }
    let values: Vec<ExprId> = match &program.stages[stage].body {
        Body::Map(value) => vec![*value],
        Body::Reduce { lift, finish, .. } => lift.iter().chain([finish]).copied().collect(),
    };
    let reads = values.iter().flat_map(|v| program.exprs.reads(*v));
    let needed: Vec<StageId> = reads.filter_map(|r| program.definition(r.buffer)).filter(|s| *s != stage).collect();
    needed.into_iter().for_each(|s| visit(program, s, order));
    order.push(stage);
}

fn dispatch(program: &mut Program, id: StageId) -> Dispatch {
    let stage = program.stages[id].clone();
    let (value, over) = match &stage.body {
        Body::Map(value) => (vec![*value], Vec::new()),
        Body::Reduce { lift, over, .. } => (lift.clone(), over.clone()),
    };
    let index = stage.axes.iter().map(|axis| program.exprs.axis(*axis)).collect();
    let dst = vec![Access { buffer: stage.buffer, index }];
    let compute = Compute { stage: id, phase: Phase::Whole, dst, value, preds: Vec::new() };
    let axes: Vec<AxisId> = stage.axes.iter().chain(&over).copied().filter(|a| !program.is_single(*a)).collect();
    let leaf = vec![Node::new(NodeKind::Compute(compute), stage.span)];
    let nest = |body: Block, axis: AxisId| {
        let span = program.axes[axis].span;
        vec![Node::new(NodeKind::Loop(Loop { axis, exec: Exec::Serial, body }), span)]
    };
    let body = axes.into_iter().rev().fold(leaf, nest);
    Dispatch { name: stage.name, local: [1, 1, 1], body }
}

impl Program {
    /// Whether a stage defines an output or updates a tensor.
    pub fn is_result(&self, stage: StageId) -> bool {
        matches!(self.buffers[self.stages[stage].buffer].space, Space::Output | Space::Update)
    }

    /// Whether a dispatch of the plan computes a stage.
    pub fn is_planned(&self, stage: StageId) -> bool {
        self.plan.iter().any(|d| Path::open(&d.body, stage, Phase::Whole).is_some())
    }

    /// Whether an axis has exactly one value, whatever the sizes: no loop is needed for it.
    pub fn is_single(&self, axis: AxisId) -> bool {
        self.exprs.as_int(self.axes[axis].extent) == Some(1)
    }
}
