//! Peels: gives full tiles a body without predicates, like Halide's loop partitioning. The body of the loop over the tiles of a peeled axis
//! is duplicated, and a branch selects by the tile: in a full tile, the axis has no predicates, and the other tiles keep them.
//!
//! - The branch is placed as far out as its condition is known, but inside loops over workgroups. If it would enclose only the loop that
//!   makes another branch's condition known, both become one branch inside that loop. For example, several peeled axes bound to workgroups
//!   give two bodies.
//! - A tail of one axis is not peeled for other axes. So n axes give at most n + 1 bodies.
//! - In the tail, serial loops over parts of the axis end where the axis does ([`super::ends`]).
//! - In full tiles, reads that are always in bounds there lose their clamps and fills (`inside`).

use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Compare, Expr, ExprId, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::walk;
use crate::nest::{AxisId, Block, BufferId, Exec, Fate, Level, Node, NodeKind, Pred, Program, Space, Tail};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A peeled axis.
struct Peel {
    axis: AxisId,
    /// The condition that the tile is full.
    cond: ExprId,
    /// The axes of the condition that loops of the current dispatch bind.
    leaves: Vec<AxisId>,
    span: SpanId,
    /// True if a branch was made for the axis.
    is_done: bool,
}

/// Peels every dispatch.
pub(super) fn run(program: &mut Program) -> Result<(), Errors> {
    let axes: Vec<AxisId> = program.axes.ids().collect();
    let mut errors = Errors::new();
    let mut peels: Vec<Peel> = axes.into_iter().filter_map(|axis| errors.keep(peel(program, axis)).flatten()).collect();
    if peels.is_empty() {
        return errors.into_result();
    }
    for at in 0..program.plan.len() {
        let body = std::mem::take(&mut program.plan[at].body);
        let bound: Vec<(AxisId, Exec)> = walk::nodes(&body).filter_map(looped).collect();
        for peel in &mut peels {
            peel.leaves = leaves(program, peel.cond, &bound);
        }
        let mut work = Work { program, peels: &mut peels, bound, errors: &mut errors };
        let body = work.block(body, &HashSet::new(), &[], &BTreeSet::new());
        program.plan[at].body = body;
    }
    errors.into_result()?;
    let mut errors = Errors::new();
    for peel in peels.iter().filter(|peel| !peel.is_done) {
        let name = &program.axes[peel.axis].name;
        let error = Error::new(peel.span, format!("`peel` has no effect: no leaf needs a predicate on `{name}`"));
        errors.push(error.help("remove `peel`"));
    }
    errors.into_result()
}

/// Returns the axis's peel, if it is peeled.
fn peel(program: &Program, axis: AxisId) -> Result<Option<Peel>, Error> {
    let Fate::Split(split) = program.axes[axis].fate.clone() else { return Ok(None) };
    if split.tail != Tail::Peel || split.exact {
        return Ok(None);
    }
    let Some(cond) = program.in_full_tile(axis) else {
        let name = &program.axes[axis].name;
        let error = Error::new(
            split.span,
            format!(
                "cannot peel `{name}`: its full tiles cannot be described, because they or its extent depend on a fused axis that has a tail, or on tiles that are moved back"
            ),
        );
        return Err(error.help("write `guard`"));
    };
    Ok(Some(Peel { axis, cond, leaves: Vec::new(), span: split.span, is_done: false }))
}

/// Returns the bound axes that an expression depends on.
fn leaves(program: &Program, of: ExprId, bound: &[(AxisId, Exec)]) -> Vec<AxisId> {
    let over = program.over_leaves(of, &bound.iter().map(|(axis, _)| *axis).collect());
    let mut leaves = Vec::new();
    program.exprs.uses_axis(over, &mut |axis| {
        leaves.push(axis);
        false
    });
    leaves
}

/// True if a loop executed like this has different values across lanes, or else across the invocations of a workgroup.
fn differs(exec: Exec, in_lanes: bool) -> bool {
    match exec {
        Exec::Lanes | Exec::Dot | Exec::Matrix(_) => in_lanes,
        Exec::Bind(Level::Thread | Level::Subgroup | Level::Lane, _) => !in_lanes,
        Exec::Serial | Exec::Unroll | Exec::Step(_) | Exec::Bind(Level::Workgroup, _) => false,
    }
}

fn looped(node: &Node) -> Option<(AxisId, Exec)> {
    match &node.kind {
        NodeKind::Loop(l) => Some((l.axis, l.exec)),
        _ => None,
    }
}

/// Removes the clamps and fills that a block's reads are proved not to need. A compute with predicates is skipped, because it reads at
/// clamped indices, which the prover does not model.
fn keep_inside(program: &Program, prover: &Prover<'_>, block: &mut Block) {
    let is_looped = |pred: &Pred| program.axes[pred.axis].fate == Fate::Live;
    walk::each_mut(block, &mut |node| {
        if let NodeKind::Compute(compute) = &mut node.kind
            && compute.preds.iter().all(is_looped)
        {
            compute.values_mut(&program.exprs).for_each(|value| *value = inside(program, prover, *value, &mut HashMap::new()));
        }
    });
}

/// Returns a value without the clamps and fills that it does not need.
fn inside(program: &Program, prover: &Prover<'_>, value: ExprId, done: &mut HashMap<ExprId, ExprId>) -> ExprId {
    if let Some(new) = done.get(&value) {
        return *new;
    }
    let is_sure = |index: ExprId| !program.is_clamped_apart(index);
    let new = program.exprs.replace(value, &mut |exprs, id| match exprs.get(id) {
        Expr::Select(cond, _, element) => match *exprs.get(*cond) {
            Expr::Compare(Compare::Ge, a, b) if exprs.is_index(a) && is_sure(a) && is_sure(b) && prover.afresh().less(a, b) => {
                Some(inside(program, prover, *element, done))
            }
            _ => None,
        },
        Expr::Read(read @ Read { buffer, index, outside: outside @ (Outside::Clamp(sides) | Outside::Fill(_, sides)) }) => {
            let needed = |((index, extent), (low, high)): ((ExprId, ExprId), &(bool, bool))| {
                let is_sure = is_sure(index);
                (*low && !(is_sure && prover.afresh().nonneg(index)), *high && !(is_sure && prover.afresh().less(index, extent)))
            };
            let left: Sides = program.dimensions(read).zip(sides).map(needed).collect();
            if left == *sides {
                return None;
            }
            let outside = match outside {
                _ if left.iter().all(|(low, high)| !low && !high) => Outside::Never,
                Outside::Fill(fill, _) => Outside::Fill(*fill, left),
                _ => Outside::Clamp(left),
            };
            Some(exprs.add(Expr::Read(Read { buffer: *buffer, index: index.clone(), outside }), exprs.dtype(id)))
        }
        _ => None,
    });
    done.insert(value, new);
    new
}

/// The state of peeling one dispatch.
struct Work<'w> {
    program: &'w mut Program,
    peels: &'w mut Vec<Peel>,
    /// The axes that its loops bind, each with its execution. One axis may be in lanes in one loop and unrolled in another.
    bound: Vec<(AxisId, Exec)>,
    errors: &'w mut Errors,
}

impl Work<'_> {
    /// Peels a block that is nested in loops over the axes `around`. The branches of the peels `waiting` must be placed here or further in.
    /// The branches of those in `passed` already enclose the block.
    fn block(&mut self, body: Block, around: &HashSet<AxisId>, waiting: &[usize], passed: &BTreeSet<usize>) -> Block {
        let known: Vec<usize> = (0..self.peels.len())
            .filter(|n| !passed.contains(n) && (waiting.contains(n) || self.is_known(*n, around)))
            .filter(|n| self.concerns(&body, *n))
            .collect();
        if known.is_empty() || self.passes_on(&body, around, &known, passed) {
            return self.within(body, around, &known, passed);
        }
        let conds: Vec<(ExprId, SpanId)> = known.iter().map(|n| (self.peels[*n].cond, self.peels[*n].span)).collect();
        let both = |(all, span), (cond, _)| (self.program.exprs.binary(Binary::And, all, cond), span);
        let Some((cond, span)) = conds.into_iter().reduce(both) else { return body };
        let full_axes: Vec<AxisId> = known.iter().map(|n| self.peels[*n].axis).collect();
        for n in &known {
            let right = self.can_differ(*n, &body);
            self.errors.keep(right);
            self.peels[*n].is_done = true;
        }
        let mut then = body.clone();
        walk::each_mut(&mut then, &mut |node| match &mut node.kind {
            NodeKind::Compute(compute) => compute.preds.retain(|pred| !full_axes.contains(&pred.axis)),
            NodeKind::AllReduce(reduction) => reduction.preds.retain(|pred| !full_axes.contains(&pred.axis)),
            _ => {}
        });
        let passed: BTreeSet<usize> = passed.iter().chain(&known).copied().collect();
        let leaves = Prover::on_leaves(self.program);
        let full = passed.iter().fold(leaves, |prover, n| prover.assuming(self.peels[*n].cond, true));
        if !full.afresh().is_impossible() {
            keep_inside(self.program, &full, &mut then);
        }
        let then = self.within(then, around, &[], &passed);
        vec![Node::new(NodeKind::Branch { cond, then, other: body }, span)]
    }

    /// Peels the blocks of a block's nodes.
    fn within(&mut self, mut body: Block, around: &HashSet<AxisId>, waiting: &[usize], passed: &BTreeSet<usize>) -> Block {
        for node in &mut body {
            let around: HashSet<AxisId> = around.iter().copied().chain(looped(node).map(|(axis, _)| axis)).collect();
            for inner in node.blocks_mut() {
                *inner = self.block(std::mem::take(inner), &around, waiting, passed);
            }
        }
        body
    }

    /// True if a block is one loop, and its branches are better placed inside it: the loop is over workgroups, or another branch will be
    /// placed there.
    fn passes_on(&self, body: &[Node], around: &HashSet<AxisId>, known: &[usize], passed: &BTreeSet<usize>) -> bool {
        let [Node { kind: NodeKind::Loop(l), .. }] = body else { return false };
        let inside: HashSet<AxisId> = around.iter().copied().chain([l.axis]).collect();
        let comes = |n: &usize| !known.contains(n) && !passed.contains(n) && self.is_known(*n, &inside);
        matches!(l.exec, Exec::Bind(Level::Workgroup, _)) || (0..self.peels.len()).filter(comes).any(|n| self.concerns(body, n))
    }

    /// Checks that all lanes are in one tile, and also all invocations that must arrive together within the body.
    fn can_differ(&self, n: usize, body: &[Node]) -> Result<(), Error> {
        let peel = &self.peels[n];
        let is = |leaf: AxisId, in_lanes: bool| self.bound.iter().any(|(axis, exec)| *axis == leaf && differs(*exec, in_lanes));
        let by = |in_lanes: bool| peel.leaves.iter().find(|leaf| is(**leaf, in_lanes));
        let error = |leaf: &AxisId, what: &str| {
            let (name, leaf) = (&self.program.axes[peel.axis].name, &self.program.axes[*leaf].name);
            let error =
                Error::new(peel.span, format!("cannot peel `{name}`: its full tiles depend on `{leaf}`, which differs {what}"));
            Err(error.help("write `guard`"))
        };
        if let Some(leaf) = by(true) {
            return error(leaf, "in lanes");
        }
        match by(false) {
            Some(leaf) if walk::nodes(body).any(|node| self.meets(node)) => {
                error(leaf, "among invocations that synchronize within the tile")
            }
            _ => Ok(()),
        }
    }

    /// True if invocations synchronize at a node, or will where its result is read.
    fn meets(&self, node: &Node) -> bool {
        let shared = |buffer: &BufferId| self.program.buffers[*buffer].space == Space::Shared;
        matches!(node.kind, NodeKind::AllReduce(_) | NodeKind::Barrier { .. })
            || matches!(&node.kind, NodeKind::Loop(l) if matches!(l.exec, Exec::Matrix(_)))
            || node.writes().iter().any(shared)
    }

    /// True if a leaf of a block has a predicate on a peeled axis.
    fn concerns(&self, body: &[Node], n: usize) -> bool {
        walk::nodes(body).any(|node| node.preds().iter().any(|pred| pred.axis == self.peels[n].axis))
    }

    /// True if the loops around bind all axes that a condition depends on.
    fn is_known(&self, n: usize, around: &HashSet<AxisId>) -> bool {
        self.peels[n].leaves.iter().all(|axis| around.contains(axis))
    }
}
