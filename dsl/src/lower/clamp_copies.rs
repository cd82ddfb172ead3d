//! Clamps the reads of copies again. The loops around a copy may run further than when it was promoted, because a later directive has split
//! or moved them, or because their extent names an axis that counts as clamped there. Copies are not guarded by predicates. Instead, their
//! reads are clamped to the source, and their divisors are at least 1.

use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::walk::{self, Around};
use crate::nest::{AxisId, Fate, Node, NodeKind, Program};
use std::collections::{HashMap, HashSet};

/// Clamps the reads and divisors of every copy.
pub fn run(program: &mut Program) {
    if program.notes.hosts.is_empty() {
        return;
    }
    for at in 0..program.plan.len() {
        let mut body = std::mem::take(&mut program.plan[at].body);
        walk::within_mut(&mut body, &mut |node, around| clamp(program, node, around));
        program.plan[at].body = body;
    }
}

fn clamp(program: &Program, node: &mut Node, around: &[Around]) {
    let NodeKind::Compute(compute) = &mut node.kind else { return };
    if !program.notes.hosts.contains_key(&compute.stage) {
        return;
    }
    // An axis with a predicate counts as its last value inside.
    let known: Vec<AxisId> = around.iter().map(|l| l.axis).chain(compute.preds.iter().map(|pred| pred.axis)).collect();
    compute.values_mut(&program.exprs).for_each(|value| *value = clamped(program, *value, &known));
}

/// Returns the value with its reads clamped, over axes that are within their extents.
fn clamped(program: &Program, value: ExprId, known: &[AxisId]) -> ExprId {
    // A live axis that no loop around binds yet belongs to invocations: the loops of a register's owners are added later.
    let live = program.axes.ids().filter(|axis| program.axes[*axis].fate == Fate::Live);
    let bound: HashSet<AxisId> = known.iter().copied().chain(live).collect();
    let mut value = divisible(program, value);
    // Reads are replaced one at a time, because a read may contain another one in its index.
    loop {
        let reads = program.exprs.reads(value);
        let found = reads.into_iter().find_map(|read| to_clamp(program, &read, &bound).map(|outside| (read, outside)));
        let Some((read, outside)) = found else { return value };
        let new = Expr::Read(Read { outside, ..read.clone() });
        value = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
            Expr::Read(r) if *r == read => Some(exprs.add(new.clone(), exprs.dtype(id))),
            _ => None,
        });
    }
}

/// Returns the new out-of-bounds behavior of a read, if it needs more clamps than it has.
fn to_clamp(program: &Program, read: &Read, bound: &HashSet<AxisId>) -> Option<Outside> {
    let index: Vec<ExprId> = read.index.iter().map(|i| program.over_leaves(*i, bound)).collect();
    let known: Sides = match &read.outside {
        Outside::Never => Sides::new(),
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.clone(),
    };
    let sides = sides(program, read, &index, &known);
    if sides == known || sides.iter().all(|(low, high)| !low && !high) {
        return None;
    }
    Some(match &read.outside {
        Outside::Fill(fill, _) => Outside::Fill(*fill, sides),
        Outside::Never | Outside::Clamp(_) => Outside::Clamp(sides),
    })
}

/// Returns a value in which no divisor of an index is 0 past the end of an axis. The extent of a fused axis's component is such a divisor,
/// because the component may be empty there.
fn divisible(program: &Program, value: ExprId) -> ExprId {
    let mut divisors = Vec::new();
    program.exprs.any(value, &mut |e| {
        if let Expr::Binary(Binary::FloorDiv | Binary::FloorMod, _, by) = e {
            divisors.push(*by);
        }
        false
    });
    divisors.retain(|by| program.exprs.uses_axis(*by, &mut |_| true) && !Prover::on_leaves(program).positive(*by));
    if divisors.is_empty() { value } else { at_least_one(&program.exprs, value, &divisors, &mut HashMap::new()) }
}

/// Returns a value whose divisors are at least 1.
fn at_least_one(exprs: &Exprs, value: ExprId, divisors: &[ExprId], done: &mut HashMap<ExprId, ExprId>) -> ExprId {
    if let Some(new) = done.get(&value) {
        return *new;
    }
    let new = exprs.replace(value, &mut |exprs, e| match *exprs.get(e) {
        Expr::Binary(op @ (Binary::FloorDiv | Binary::FloorMod), whole, by) if divisors.contains(&by) => {
            let (whole, one) = (at_least_one(exprs, whole, divisors, done), exprs.int(1));
            let by = exprs.binary(Binary::Max, by, one);
            Some(exprs.binary(op, whole, by))
        }
        _ => None,
    });
    done.insert(value, new);
    new
}

/// Returns the sides to clamp: those clamped already, and those that are not proved in bounds.
fn sides(program: &Program, read: &Read, index: &[ExprId], known: &Sides) -> Sides {
    let prover = Prover::new(program);
    let side = |(n, (index, extent)): (usize, (&ExprId, &ExprId))| {
        let (low, high) = known.get(n).copied().unwrap_or((false, false));
        if program.is_clamped_apart(*index) || program.is_clamped_apart(read.index[n]) {
            return (true, true);
        }
        (low || !prover.nonneg(*index), high || !prover.less(*index, *extent))
    };
    index.iter().zip(&program.buffers[read.buffer].shape).enumerate().map(side).collect()
}
