//! What the leaves of a nest do: arithmetic, reads and writes, each given to the count with the loops that it depends on.

use super::count::{Count, Loops};
use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::nest::{Block, Body, BufferId, Compute, Fragment, NodeKind, Phase, StageId};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Counts everything in a block.
pub(super) fn walk(count: &mut Count<'_>, block: &Block) {
    for node in block {
        match &node.kind {
            NodeKind::Loop(looped) => {
                count.enter(looped);
                walk(count, &looped.body);
                count.leave();
            }
            NodeKind::Alloc { body, .. } => walk(count, body),
            // The longer way is not known: both count.
            NodeKind::Branch { then, other, .. } => {
                walk(count, then);
                walk(count, other);
            }
            NodeKind::Compute(c) => compute(count, c),
            NodeKind::Copy(copy) => {
                Values::new(count).value(copy.value);
                count.write(copy.dst, 1);
            }
            NodeKind::Fragment(f) => fragment(count, f),
            NodeKind::AllReduce(c) => combine(count, c.stage, 0..c.dst.len()),
            NodeKind::Barrier { .. } => count.barriers += 1,
        }
    }
}

fn compute(count: &mut Count<'_>, compute: &Compute) {
    let mut values = Values::new(count);
    compute.value.iter().for_each(|v| {
        values.value(*v);
    });
    if compute.phase == Phase::Update {
        combine(count, compute.stage, compute.given..compute.dst.len());
    }
    compute.written().iter().for_each(|place| count.write(place.buffer, 1));
    count.guards += u32::from(!compute.preds.is_empty());
}

/// One combination of components of a stage's states, in every open loop.
fn combine(count: &mut Count<'_>, stage: StageId, components: Range<usize>) {
    let Body::Reduce { monoid, .. } = &count.program.stages[stage].body else { return };
    let (flops, functions) = total(count, monoid.combine.get(components).unwrap_or(&[]));
    count.arithmetic(flops, functions, count.everywhere());
}

/// Float operations of expressions and of all that they are made of.
fn total(count: &Count<'_>, roots: &[ExprId]) -> (i64, i64) {
    let (mut open, mut seen) = (roots.to_vec(), HashSet::new());
    let (mut flops, mut functions) = (0, 0);
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            let (f, g) = arithmetic(count, id);
            (flops, functions) = (flops + f, functions + g);
            open.extend(count.program.exprs.get(id).operands());
        }
    }
    (flops, functions)
}

/// Float operations of an expression itself: ordinary ones, and functions.
fn arithmetic(count: &Count<'_>, id: ExprId) -> (i64, i64) {
    if !count.program.exprs.dtype(id).is_float() {
        return (0, 0);
    }
    match count.program.exprs.get(id) {
        Expr::Binary(Binary::Pow | Binary::Atan2 | Binary::Rem, ..) => (0, 1),
        Expr::Binary(..) => (1, 0),
        // Signs are free as modifiers of operands.
        Expr::Unary(Unary::Neg | Unary::Abs, _) => (0, 0),
        Expr::Unary(Unary::Sign | Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Fract, _) => (1, 0),
        Expr::Unary(..) => (0, 1),
        _ => (0, 0),
    }
}

/// The values of one leaf, each counted once.
struct Values<'a, 'p> {
    count: &'a mut Count<'p>,
    known: HashMap<ExprId, Loops>,
}

impl<'a, 'p> Values<'a, 'p> {
    fn new(count: &'a mut Count<'p>) -> Values<'a, 'p> {
        Values { count, known: HashMap::new() }
    }

    /// Counts a value and what it is made of; gives the loops that it depends on.
    fn value(&mut self, id: ExprId) -> Loops {
        if let Some(loops) = self.known.get(&id) {
            return *loops;
        }
        let expr = self.count.expr(id);
        let mut loops = match &expr {
            Expr::Axis(axis) => self.count.of_axis(*axis),
            Expr::Read(read) => self.count.of_buffer(read.buffer),
            _ => 0,
        };
        for operand in expr.operands() {
            loops |= self.value(operand);
        }
        if let Expr::Read(read) = &expr {
            self.count.read(read.buffer, 1, loops);
        }
        let (flops, functions) = arithmetic(self.count, id);
        self.count.arithmetic(flops, functions, loops);
        self.known.insert(id, loops);
        loops
    }
}

/// A matrix operation: by one subgroup, so that its elements count once for it.
fn fragment(count: &mut Count<'_>, fragment: &Fragment) {
    let everywhere = count.everywhere();
    match fragment {
        Fragment::Load { dst, src, .. } => count.read(src.buffer, elements(count, dst.buffer), everywhere),
        Fragment::Store { dst, src } => count.write(dst.buffer, elements(count, src.buffer)),
        Fragment::Splat { .. } => {}
        Fragment::MulAdd { over, .. } => {
            let extents = over.map(|axis| count.program.exprs.as_int(count.program.axes[axis].extent).unwrap_or(1));
            count.arithmetic(2 * extents.iter().product::<i64>(), 0, everywhere);
        }
        Fragment::Map { dst, value } => {
            let n = elements(count, dst.buffer);
            let (flops, functions) = total(count, &[*value]);
            count.arithmetic(flops * n, functions * n, everywhere);
        }
    }
}

/// The elements of one of a buffer's matrices.
fn elements(count: &Count<'_>, buffer: BufferId) -> i64 {
    match count.program.buffers[buffer].space {
        crate::nest::Space::Fragment { rows, columns, .. } => i64::from(rows) * i64::from(columns),
        _ => 1,
    }
}
