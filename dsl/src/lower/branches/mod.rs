//! Branches: gives the common case of a nest a body of its own, like Halide's loop partitioning. The common cases are the full tiles of peeled
//! axes ([`full_tiles`]), which need no predicates, and the interior of a nest with `border` ([`interior`]), whose reads need no clamps. A branch
//! selects between two copies of the body, and the second one keeps the predicates and clamps.
//!
//! - The branch is placed as far out as its condition is known, but inside loops over workgroups. If it would enclose only loops that
//!   make another branch's condition known, both become one branch inside these loops. For example, several peeled axes bound to workgroups
//!   give two bodies.
//! - The second body is not divided further. So n cases give at most n + 1 bodies.
//! - In the tail, serial loops over parts of the axis end where the axis does ([`super::ends`]).
//! - In the first body, reads that are always in bounds there lose their clamps and fills ([`clamps`]).

mod clamps;
mod full_tiles;
mod interior;

use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, ExprId, Read};
use crate::facts::Prover;
use crate::nest::walk;
use crate::nest::{AxisId, Block, BufferId, Exec, Level, Node, NodeKind, Program, Space};
use std::collections::{BTreeSet, HashSet};

/// A common case.
struct Case {
    kind: Kind,
    /// The condition under which it holds.
    cond: ExprId,
    /// The axes of the condition that loops of the current dispatch bind.
    leaves: Vec<AxisId>,
    span: SpanId,
    /// True if a branch was made for it.
    is_done: bool,
}

/// The kind of a common case.
enum Kind {
    /// The tile of this peeled axis is full.
    FullTile(AxisId),
    /// The nest is in the interior of a `border`.
    Interior {
        /// The reads that are in bounds there.
        reads: HashSet<Read>,
        /// The axes whose tile is full there.
        full: Vec<AxisId>,
    },
}

/// Makes the branches of every dispatch.
pub(super) fn run(program: &mut Program) -> Result<(), Errors> {
    let axes: Vec<AxisId> = program.axes.ids().collect();
    let mut errors = Errors::new();
    let mut cases: Vec<Case> = axes.into_iter().filter_map(|axis| errors.keep(full_tiles::of(program, axis)).flatten()).collect();
    if cases.is_empty() && program.notes.interiors.is_empty() {
        return errors.into_result();
    }
    let peeled = cases.len();
    for at in 0..program.plan.len() {
        let body = std::mem::take(&mut program.plan[at].body);
        let bound: Vec<(AxisId, Exec)> = walk::nodes(&body).filter_map(looped).collect();
        let interiors =
            program.notes.interiors.iter().filter_map(|of| errors.keep(interior::of(program, of, &body, &bound)).flatten());
        cases.extend(interiors.collect::<Vec<_>>());
        for case in &mut cases {
            case.leaves = leaves(program, case.cond, &bound);
        }
        let mut work = Work { program, cases: &mut cases, bound, errors: &mut errors };
        let body = work.block(body, &HashSet::new(), &[], &BTreeSet::new());
        program.plan[at].body = body;
        cases.drain(peeled..).filter(|case| !case.is_done).for_each(|case| errors.push(interior::no_effect(case.span)));
    }
    errors.into_result()?;
    let mut errors = Errors::new();
    for case in cases.iter().filter(|case| !case.is_done) {
        let Kind::FullTile(axis) = case.kind else { continue };
        let name = &program.axes[axis].name;
        let error = Error::new(case.span, format!("`peel` has no effect: no leaf needs a predicate on `{name}`"));
        errors.push(error.help("remove `peel`"));
    }
    errors.into_result()
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

/// The state of one dispatch.
struct Work<'w> {
    program: &'w mut Program,
    cases: &'w mut Vec<Case>,
    /// The axes that its loops bind, each with its execution. One axis may be in lanes in one loop and unrolled in another.
    bound: Vec<(AxisId, Exec)>,
    errors: &'w mut Errors,
}

impl Work<'_> {
    /// Makes the branches of a block that is nested in loops over the axes `around`. The branches of the cases `waiting` must be placed here
    /// or further in. The branches of those in `passed` already enclose the block.
    fn block(&mut self, body: Block, around: &HashSet<AxisId>, waiting: &[usize], passed: &BTreeSet<usize>) -> Block {
        let known: Vec<usize> = (0..self.cases.len())
            .filter(|n| !passed.contains(n) && (waiting.contains(n) || self.is_known(*n, around)))
            .filter(|n| self.concerns(&body, *n))
            .collect();
        if known.is_empty() || self.passes_on(&body, around, &known, passed) {
            return self.within(body, around, &known, passed);
        }
        let conds: Vec<(ExprId, SpanId)> = known.iter().map(|n| (self.cases[*n].cond, self.cases[*n].span)).collect();
        let both = |(all, span), (cond, _)| (self.program.exprs.binary(Binary::And, all, cond), span);
        let Some((cond, span)) = conds.into_iter().reduce(both) else { return body };
        for n in &known {
            let right = self.can_differ(*n, &body);
            self.errors.keep(right);
        }
        let full_axes: Vec<AxisId> = known.iter().flat_map(|n| self.full(*n)).copied().collect();
        let mut then = body.clone();
        walk::each_mut(&mut then, &mut |node| match &mut node.kind {
            NodeKind::Compute(compute) => compute.preds.retain(|pred| !full_axes.contains(&pred.axis)),
            NodeKind::AllReduce(reduction) => reduction.preds.retain(|pred| !full_axes.contains(&pred.axis)),
            _ => {}
        });
        let passed: BTreeSet<usize> = passed.iter().chain(&known).copied().collect();
        let leaves = Prover::on_leaves(self.program);
        let full = passed.iter().fold(leaves, |prover, n| prover.assuming(self.cases[*n].cond, true));
        // If no tile is in the first case, its body never runs.
        let is_possible = !full.afresh().is_impossible();
        if is_possible {
            clamps::keep_inside(self.program, &full, &mut then);
        }
        for n in &known {
            let case = &self.cases[*n];
            let helps = match &case.kind {
                Kind::FullTile(_) => true,
                Kind::Interior { reads, .. } => {
                    !is_possible || interior::count(self.program, &then, reads) < interior::count(self.program, &body, reads)
                }
            };
            self.cases[*n].is_done |= helps;
        }
        let then = self.within(then, around, &[], &passed);
        vec![Node::new(NodeKind::Branch { cond, then, other: body }, span)]
    }

    /// Makes the branches within a block's nodes.
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
    /// placed further in.
    fn passes_on(&self, body: &[Node], around: &HashSet<AxisId>, known: &[usize], passed: &BTreeSet<usize>) -> bool {
        let [Node { kind: NodeKind::Loop(l), .. }] = body else { return false };
        let inside: HashSet<AxisId> = around.iter().copied().chain([l.axis]).collect();
        let comes = |n: &usize| !known.contains(n) && !passed.contains(n) && self.is_known(*n, &inside);
        matches!(l.exec, Exec::Bind(Level::Workgroup, _))
            || (0..self.cases.len()).filter(comes).any(|n| self.concerns(body, n))
            || self.passes_on(&l.body, &inside, known, passed)
    }

    /// Checks that all lanes are in one tile, and also all invocations that must arrive together within the body.
    fn can_differ(&self, n: usize, body: &[Node]) -> Result<(), Error> {
        // The condition of an interior names uniform axes only.
        let Kind::FullTile(axis) = self.cases[n].kind else { return Ok(()) };
        let case = &self.cases[n];
        let is = |leaf: AxisId, in_lanes: bool| self.bound.iter().any(|(axis, exec)| *axis == leaf && differs(*exec, in_lanes));
        let by = |in_lanes: bool| case.leaves.iter().find(|leaf| is(**leaf, in_lanes));
        let error = |leaf: &AxisId, what: &str| {
            let (name, leaf) = (&self.program.axes[axis].name, &self.program.axes[*leaf].name);
            let error =
                Error::new(case.span, format!("cannot peel `{name}`: its full tiles depend on `{leaf}`, which differs {what}"));
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

    /// True if a leaf of a block has a predicate or a clamp that a case makes needless.
    fn concerns(&self, body: &[Node], n: usize) -> bool {
        match &self.cases[n].kind {
            Kind::FullTile(axis) => walk::nodes(body).any(|node| node.preds().iter().any(|pred| pred.axis == *axis)),
            Kind::Interior { reads, .. } => interior::count(self.program, body, reads) > 0,
        }
    }

    /// Returns the axes whose tile is full in a case.
    fn full(&self, n: usize) -> &[AxisId] {
        match &self.cases[n].kind {
            Kind::FullTile(axis) => std::slice::from_ref(axis),
            Kind::Interior { full, .. } => full,
        }
    }

    /// True if the loops around bind all axes that a condition depends on.
    fn is_known(&self, n: usize, around: &HashSet<AxisId>) -> bool {
        self.cases[n].leaves.iter().all(|axis| around.contains(axis))
    }
}
