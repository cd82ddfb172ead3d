//! The naive nest: for every stage a dispatch of its own, one loop an axis in the order of the definition, around one
//! compute. It follows the algorithm and precedes the first directive.

use super::{Access, AxisId, Block, Body, Compute, Dispatch, Exec, Loop, Node, NodeKind, Phase, Program, StageId};

/// Gives every stage its naive nest, in the order of definition.
pub fn naive(program: &mut Program) {
    program.plan = program.stages.ids().map(|stage| dispatch(program, stage)).collect();
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
    /// Whether an axis has exactly one value, whatever the sizes: no loop is needed for it.
    pub fn is_single(&self, axis: AxisId) -> bool {
        self.exprs.as_int(self.axes[axis].extent) == Some(1)
    }
}
