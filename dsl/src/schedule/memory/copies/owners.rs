//! Registers whose scope is outside loops bound to invocations.
//!
//! A copy to registers is placed inside the axes bound to invocations, as far as its place allows. If these axes are further in
//! (because they follow a shared copy), each invocation still has its own registers: the buffer gets a dimension for each such
//! axis, which takes no space, and the copy's nest gets the loops.
//!
//! A buffer that the finish of a reduction reads is the same for all invocations that share the reduction. Each of them has its own
//! copy, so the axes of the reduction do not own it, regardless of its other readers.

use crate::expr::{Expr, ExprId};
use crate::nest::walk::{self, Around};
use crate::nest::{Access, AxisId, Block, Body, BufferId, Exec, Level, Loop, Node, NodeKind, Program, StageId};

/// Gives registers their owners, in every dispatch.
pub(super) fn run(program: &mut Program) {
    for at in 0..program.plan.len() {
        let mut body = std::mem::take(&mut program.plan[at].body);
        block(program, &mut body);
        program.plan[at].body = body;
    }
}

/// Processes inner scopes first, because the nests that fill them read outer buffers.
fn block(program: &mut Program, nodes: &mut Block) {
    for node in nodes {
        node.blocks_mut().for_each(|inner| block(program, inner));
        if let NodeKind::Alloc { buffer, body } = &mut node.kind
            && program.is_filled_by_each(*buffer)
        {
            let mut readers = Readers::default();
            walk::within(body, &mut |node, around| readers.note(program, node, *buffer, around));
            let owners = readers.owners();
            if !owners.is_empty() {
                own(program, body, *buffer, &owners);
            }
        }
    }
}

/// The loops around the reads of a buffer.
#[derive(Default)]
struct Readers {
    /// The loops bound to invocations.
    bound: Vec<Around>,
    /// The axes of reductions whose finish also reads it, outside their loops.
    left: Vec<AxisId>,
}

impl Readers {
    fn note(&mut self, program: &Program, node: &Node, buffer: BufferId, around: &[Around]) {
        let NodeKind::Compute(compute) = &node.kind else { return };
        let reads = |value: ExprId| program.exprs.reads(value).iter().any(|r| r.buffer == buffer);
        let finish = compute.finish.is_some_and(reads);
        let is_bound = |l: &&Around| matches!(l.exec, Exec::Bind(level, _) if level != Level::Workgroup);
        let reads = finish || compute.value.iter().any(|value| reads(*value));
        for bound in around.iter().filter(is_bound) {
            if reads && self.bound.iter().all(|found| found.axis != bound.axis) {
                self.bound.push(*bound);
            }
            if finish && is_reduced(program, bound.axis, compute.stage) {
                self.left.push(bound.axis);
            }
        }
    }

    /// Returns the loops whose invocations own the buffer.
    fn owners(self) -> Vec<Around> {
        let Readers { bound, left } = self;
        bound.into_iter().filter(|l| !left.contains(&l.axis)).collect()
    }
}

/// True if an axis is made from axes of a stage's reduction.
fn is_reduced(program: &Program, axis: AxisId, stage: StageId) -> bool {
    match &program.stages[stage].body {
        Body::Reduce { over, .. } => program.comes_from(axis, over),
        Body::Map(_) => false,
    }
}

/// Adds the owners' dimensions to a buffer and its accesses, and loops around the nodes that write it.
fn own(program: &mut Program, body: &mut Block, buffer: BufferId, owners: &[Around]) {
    let extents: Vec<ExprId> = owners.iter().map(|l| program.axes[l.axis].extent).collect();
    program.buffers[buffer].shape.splice(0..0, extents);
    let index: Vec<ExprId> = owners.iter().map(|l| program.exprs.axis(l.axis)).collect();
    for node in body.iter_mut() {
        if writes(node, buffer) {
            let inner = std::mem::replace(node, Node::new(NodeKind::Alloc { buffer, body: Vec::new() }, node.span));
            let wrapped = owners
                .iter()
                .rev()
                .fold(vec![inner], |body, l| vec![Node::new(NodeKind::Loop(Loop::new(l.axis, l.exec, body)), l.span)]);
            wrapped.into_iter().for_each(|new| *node = new);
        }
    }
    index_all(program, body, buffer, &index);
}

/// True if a node writes a buffer, and does not bind invocations around the write.
fn writes(node: &Node, buffer: BufferId) -> bool {
    match &node.kind {
        NodeKind::Compute(compute) => compute.dst.iter().any(|d| d.buffer == buffer),
        NodeKind::Loop(Loop { exec: Exec::Bind(..), .. }) => false,
        _ => node.blocks().flatten().any(|inner| writes(inner, buffer)),
    }
}

fn index_all(program: &Program, nodes: &mut Block, buffer: BufferId, index: &[ExprId]) {
    walk::each_mut(nodes, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind {
            compute.values_mut(&program.exprs).for_each(|value| *value = indexed(program, *value, buffer, index));
            for Access { index: old, .. } in compute.dst.iter_mut().filter(|d| d.buffer == buffer) {
                old.splice(0..0, index.iter().copied());
            }
        }
    });
}

/// Prepends indices to the reads of a buffer in an expression.
fn indexed(program: &Program, value: ExprId, buffer: BufferId, index: &[ExprId]) -> ExprId {
    program.exprs.replace(value, &mut |exprs, id| match exprs.get(id).clone() {
        Expr::Read(read) if read.buffer == buffer => {
            let dtype = exprs.dtype(id);
            let all: Vec<ExprId> = index.iter().chain(&read.index).copied().collect();
            Some(exprs.read(buffer, dtype, all))
        }
        _ => None,
    })
}
