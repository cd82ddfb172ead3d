//! Counts the arithmetic, reads and writes of a nest's leaves, each with the loops that it depends on.

use super::copies::{Numbers, can_differ, count_copies};
use super::count::{Count, Loops};
use super::shares;
use crate::formulas::function_of;
use crate::values::Op;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tilewright_dsl::expr::{Expr, ExprId, Unary};
use tilewright_dsl::nest::{Block, Body, Compute, NodeKind, Phase, StageId, walk as nodes};

/// The most subexpressions that are counted in all copies of an unrolled leaf. If there are more, each subexpression counts as written, in
/// all copies.
const PARTS: usize = 1 << 18;

/// Counts everything in a block.
pub(super) fn walk(count: &mut Count<'_>, block: &Block) {
    for node in block {
        match &node.kind {
            NodeKind::Loop(looped) => {
                count.enter(looped);
                walk(count, &looped.body);
                count.leave();
            }
            NodeKind::Alloc { buffer, body } => {
                count.allocate(*buffer);
                count.makes(*buffer);
                shares::note(count, *buffer, node.span);
                walk(count, body);
            }
            // Both blocks compute the same. Every tile counts as a full tile, which the first block computes.
            NodeKind::Branch { then, other, .. } => {
                walk(count, then);
                notes(count, other);
            }
            NodeKind::Compute(c) => compute(count, c),
            NodeKind::AllReduce(c) => {
                count.makes(count.program.stages[c.stage].buffer);
                combine(count, c.stage, 0..c.dst.len());
            }
            NodeKind::Barrier { .. } => count.barriers += 1,
        }
    }
}

/// Counts the guards and barriers of a block, but not its work.
fn notes(count: &mut Count<'_>, block: &Block) {
    for node in nodes::nodes(block) {
        match &node.kind {
            NodeKind::Compute(c) => count.guards += u32::from(!c.preds.is_empty()),
            NodeKind::Barrier { .. } => count.barriers += 1,
            _ => {}
        }
    }
}

fn compute(count: &mut Count<'_>, compute: &Compute) {
    count.makes(count.program.stages[compute.stage].buffer);
    if !copies(count, compute) {
        values(count, &compute.value);
    }
    if count.is_product() {
        count.product();
    } else if matches!(compute.phase, Phase::Update | Phase::Atomic) {
        combine(count, compute.stage, compute.given..compute.dst.len());
    }
    compute.written().iter().for_each(|place| count.write(place.buffer, 1));
    count.guards += u32::from(!compute.preds.is_empty());
}

/// Counts values and their subexpressions, each once.
fn values(count: &mut Count<'_>, roots: &[ExprId]) {
    let mut parts = Parts::default();
    for root in roots {
        parts.loops(count, *root);
    }
    parts.inner_first.into_iter().for_each(|(id, depends)| one(count, id, depends));
}

/// Counts the values of a compute in the copies of the unrolled loops around it. A value that several copies share counts once, and a
/// `select` whose condition is known in a copy counts as the selected value. Returns false if the copies do not differ, if there are too
/// many, or if a backend would refuse one.
fn copies(count: &mut Count<'_>, compute: &Compute) -> bool {
    let program = count.program;
    if !compute.value.iter().any(|value| can_differ(program, *value)) {
        return false;
    }
    let mut parts = Parts::default();
    let depends = compute.value.iter().fold(0, |all, value| all | parts.loops(count, *value));
    let few = |copies: &Vec<Numbers>| copies.len().saturating_mul(parts.known.len()) <= PARTS;
    let Some(copies) = count.copies(depends).filter(few) else { return false };
    let Some(mut resolver) = count.resolver.take() else { return false };
    count.written_out = copies[0].keys().fold(0, |all, axis| all | count.of_axis(*axis));
    let is_counted = count_copies(count, &mut resolver, compute, &copies).is_ok();
    count.resolver = Some(resolver);
    count.written_out = 0;
    is_counted
}

/// The subexpressions of values, and the loops that each depends on.
#[derive(Default)]
struct Parts {
    known: HashMap<ExprId, Loops>,
    inner_first: Vec<(ExprId, Loops)>,
}

impl Parts {
    /// Returns the loops that a value depends on.
    fn loops(&mut self, count: &Count<'_>, id: ExprId) -> Loops {
        if let Some(loops) = self.known.get(&id) {
            return *loops;
        }
        let expr = count.program.exprs.get(id);
        let own = match expr {
            Expr::Axis(axis) => count.of_axis(*axis),
            Expr::Read(read) => count.of_buffer(read.buffer),
            _ => 0,
        };
        let all = expr.operands().into_iter().fold(own, |all, operand| all | self.loops(count, operand));
        self.known.insert(id, all);
        self.inner_first.push((id, all));
        all
    }
}

/// Counts a value that depends on these loops, without its subexpressions.
fn one(count: &mut Count<'_>, id: ExprId, depends: Loops) {
    if let Expr::Read(read) = count.program.exprs.get(id) {
        count.read(read.buffer, 1, depends);
    }
    let (flops, functions) = arithmetic(count, id);
    count.arithmetic(flops, functions, depends);
}

/// Counts one combination of components of a stage's states, in every open loop.
fn combine(count: &mut Count<'_>, stage: StageId, components: Range<usize>) {
    let Body::Reduce { monoid, .. } = &count.program.stages[stage].body else { return };
    let (flops, functions) = total(count, monoid.combine.get(components).unwrap_or(&[]));
    count.arithmetic(flops, functions, count.everywhere());
}

/// Returns the float operations of expressions and all their subexpressions.
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

/// Returns the float operations of an expression without its operands: ordinary operations, and functions.
fn arithmetic(count: &Count<'_>, id: ExprId) -> (i64, i64) {
    match count.program.exprs.get(id) {
        _ if !count.program.exprs.dtype(id).is_float() => (0, 0),
        Expr::Unary(op, _) => operations(Op::Unary(*op)),
        Expr::Binary(op, ..) => operations(Op::Binary(*op)),
        Expr::MulAdd(..) => operations(Op::Fma),
        _ => (0, 0),
    }
}

/// Returns the float operations of an operation whose result is a float.
pub(super) fn operations(op: Op) -> (i64, i64) {
    if let Some(function) = function_of(op) {
        return function.operations();
    }
    match op {
        Op::Binary(_) => (1, 0),
        // Signs are free as modifiers of operands.
        Op::Unary(Unary::Neg | Unary::Abs | Unary::FromBits) => (0, 0),
        Op::Unary(Unary::Sign | Unary::Floor | Unary::Ceil | Unary::RoundTiesEven | Unary::Trunc | Unary::Fract) => (1, 0),
        Op::Unary(_) => (0, 1),
        Op::Fma => (2, 0),
        _ => (0, 0),
    }
}
