//! The naive nest: every stage has a dispatch of its own, with one loop for each axis in the order of the definition, around
//! one compute. It is the starting point of the directives.

use super::path::Path;
use super::{Access, AxisId, Block, Body, BufferId, Compute, Dispatch, Exec, Loop, Node, NodeKind, Phase, Program, Space, StageId};
use crate::expr::ExprId;
use std::collections::{HashMap, HashSet};

/// Gives a naive nest to every stage that a result needs, producers first.
pub fn naive(program: &mut Program) {
    let results: Vec<StageId> = program.stages.ids().filter(|s| program.is_result(*s)).collect();
    program.plan = ordered(program, results).into_iter().map(|stage| program.naive_dispatch(stage)).collect();
}

/// Returns the given stages and all that they read, producers first. If some of them are updates, the rest is the order of the stages, which the
/// algorithm has chosen for them, and an update follows all of these stages that read its tensor.
fn ordered(program: &Program, results: Vec<StageId>) -> Vec<StageId> {
    let defined = program.stages.iter().flat_map(|(id, stage)| stage.buffers().into_iter().map(move |buffer| (buffer, id)));
    let mut definitions: HashMap<BufferId, StageId> = defined.collect();
    definitions.retain(|buffer, _| program.buffers[*buffer].space != Space::Update);
    let reads =
        |stage: StageId| program.stages[stage].values().into_iter().flat_map(|v| program.exprs.reads(v)).map(|read| read.buffer);
    let producers = |stage: StageId| reads(stage).filter_map(|buffer| definitions.get(&buffer).copied()).collect::<Vec<_>>();
    let mut needed = after(&results, &producers);
    if results.iter().all(|stage| program.updated(*stage).is_empty()) {
        return needed;
    }
    needed.sort();
    after(&needed, &|stage| {
        let updated = program.updated(stage);
        let of_old = |other: &&StageId| **other != stage && reads(**other).any(|buffer| updated.contains(&buffer));
        let readers = needed.iter().filter(|_| !updated.is_empty()).filter(of_old);
        producers(stage).into_iter().chain(readers.copied()).collect()
    })
}

/// Returns some stages and all stages that they need, which come first.
fn after(results: &[StageId], needed: &dyn Fn(StageId) -> Vec<StageId>) -> Vec<StageId> {
    let (mut order, mut seen) = (Vec::new(), HashSet::new());
    for result in results.iter().copied() {
        // An explicit stack, because a chain of stages may be too long for recursion.
        let mut open = vec![(result, false)];
        while let Some((stage, is_ready)) = open.pop() {
            if is_ready {
                order.push(stage);
            } else if seen.insert(stage) {
                open.push((stage, true));
                open.extend(needed(stage).into_iter().rev().map(|stage| (stage, false)));
            }
        }
    }
    order
}

impl Program {
    /// Makes the naive nest of a stage.
    pub fn naive_dispatch(&mut self, id: StageId) -> Dispatch {
        let stage = self.stages[id].clone();
        let (value, finish, over) = match &stage.body {
            Body::Map(_) => (stage.stored(), None, Vec::new()),
            Body::Reduce { lift, finish, over, .. } => (lift.clone(), Some(*finish), over.clone()),
        };
        let index: Vec<ExprId> = stage.axes.iter().map(|axis| self.exprs.axis(*axis)).collect();
        let dst = self.results(id, index);
        let compute = Compute { stage: id, phase: Phase::Whole, dst, value, finish, given: 0, preds: Vec::new() };
        let axes: Vec<AxisId> = stage.axes.iter().chain(&over).copied().filter(|a| !self.is_single(*a)).collect();
        let leaf = vec![Node::new(NodeKind::Compute(compute), stage.span)];
        let nest = |body: Block, axis: AxisId| {
            let span = self.axes[axis].span;
            vec![Node::new(NodeKind::Loop(Loop::new(axis, Exec::Serial, body)), span)]
        };
        let body = axes.into_iter().rev().fold(leaf, nest);
        Dispatch { name: stage.name, local: [1, 1, 1], body }
    }

    /// Returns the places that a stage writes at an index.
    pub fn results(&self, stage: StageId, index: Vec<ExprId>) -> Vec<Access> {
        let stage = &self.stages[stage];
        let buffers = stage.buffers().into_iter();
        buffers.map(|buffer| Access { buffer, index: index.clone() }).collect()
    }

    /// Returns the stage that computes the kernel's result, if there is only one. A stage that writes a copy back is not counted.
    pub fn only_result(&self) -> Option<StageId> {
        let mut results = self.stages.ids().filter(|stage| self.is_result(*stage) && !self.notes.hosts.contains_key(stage));
        results.next().filter(|_| results.next().is_none())
    }

    /// True if a dispatch of the plan computes a stage.
    pub fn is_planned(&self, stage: StageId) -> bool {
        self.plan.iter().any(|d| Path::is_in(&d.body, stage, Phase::Whole))
    }

    /// True if an axis has exactly one value for all sizes, so that it does not need a loop.
    pub fn is_single(&self, axis: AxisId) -> bool {
        self.exprs.as_int(self.axes[axis].extent) == Some(1)
    }
}
