//! Branches: checks that both blocks compute the same. The first block (the main part) may lack predicates, clamps and fills, because
//! `peel` removes them: where the condition holds, the block's axes are within their extents and its reads are in bounds. All other checks
//! look at the second block, which keeps them.

use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Compare, Expr, ExprId, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::print::Printer;
use crate::nest::{AxisId, Block, Dispatch, Exec, Fate, Level, Loop, Node, NodeKind, Program, Tail, walk};
use crate::verify::Rule;
use std::collections::{HashMap, HashSet};

/// Returns the plan with each branch replaced by its second block, and the errors found in the branches.
pub(in crate::verify) fn second(program: &Program) -> (Vec<Dispatch>, Errors) {
    let mut errors = Errors::new();
    let mut plan = program.plan.clone();
    for dispatch in &mut plan {
        let mut walk = BranchWalk { program, around: Vec::new(), conds: Vec::new(), errors: &mut errors };
        dispatch.body = walk.block(std::mem::take(&mut dispatch.body));
    }
    (plan, errors)
}

struct BranchWalk<'w> {
    program: &'w Program,
    around: Vec<(AxisId, Exec)>,
    /// The conditions that hold in the first blocks of the branches around. A second block assumes nothing.
    conds: Vec<ExprId>,
    errors: &'w mut Errors,
}

impl BranchWalk<'_> {
    fn block(&mut self, block: Block) -> Block {
        block.into_iter().flat_map(|node| self.node(node)).collect()
    }

    fn node(&mut self, node: Node) -> Block {
        let Node { kind, span } = node;
        let kind = match kind {
            NodeKind::Loop(l) => {
                self.ends(&l, span);
                self.around.push((l.axis, l.exec));
                let body = self.block(l.body);
                self.around.pop();
                // The other checks see the whole loop, because predicates exclude the iterations that it skips.
                NodeKind::Loop(Loop::new(l.axis, l.exec, body))
            }
            NodeKind::Alloc { buffer, body } => NodeKind::Alloc { buffer, body: self.block(body) },
            NodeKind::Branch { cond, then, other } => return self.branch(cond, then, other, span),
            leaf => leaf,
        };
        vec![Node { kind, span }]
    }

    /// Checks the end of a loop: the iterations that it skips are out of bounds of an axis, and every leaf in the loop has the
    /// predicate of that axis.
    fn ends(&mut self, l: &Loop, span: SpanId) {
        let Some(end) = l.end else { return };
        let program = self.program;
        self.is_uniform(end, &l.body, span);
        let outside: HashSet<AxisId> = self.around.iter().map(|(axis, _)| *axis).collect();
        if program.end_of(l, &outside) != Some(end) {
            let what = format!("{}: the loop over `{}` may end too early", Rule::Value, Printer::new(program).axis(l.axis));
            self.errors.push(Error::new(span, what));
        }
    }

    fn branch(&mut self, cond: ExprId, then: Block, other: Block, span: SpanId) -> Block {
        let sides: Block = then.iter().chain(&other).cloned().collect();
        self.is_uniform(cond, &sides, span);
        self.conds.push(cond);
        let then = self.block(then);
        self.conds.pop();
        let other = self.block(other);
        let pairs: Vec<(&Node, &Node)> = walk::nodes(&then).zip(walk::nodes(&other)).collect();
        let conds: Vec<ExprId> = self.conds.iter().copied().chain([cond]).collect();
        let leaves = Prover::on_leaves(self.program);
        let full = conds.iter().fold(leaves, |prover, cond| prover.assuming(*cond, true));
        let differ =
            |(a, b): &(&Node, &Node)| a.preds().iter().any(|pred| !b.preds().contains(pred)) || !self.same_values(a, b, &full);
        if bare(&then) != bare(&other) || pairs.iter().any(differ) {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: the two blocks of the branch on `{cond}` compute different values", Rule::Value);
            self.errors.push(Error::new(span, what));
        }
        for (a, b) in pairs {
            // A filled (rounded-up) axis still exceeds its extent.
            let kept: Vec<AxisId> = a.preds().iter().filter(|pred| pred.tail != Tail::RoundUp).map(|pred| pred.axis).collect();
            for pred in b.preds().iter().filter(|pred| !a.preds().contains(pred)) {
                if !self.is_full(pred.axis, &kept, &conds) {
                    let name = Printer::new(self.program).axis(pred.axis);
                    let what = format!("{}: the main part of a branch may run past the end of `{name}`", Rule::Predicate);
                    self.errors.push(Error::new(a.span, what));
                }
            }
        }
        other
    }

    /// True if two computes have the same values, except that reads of the first need no clamp or fill where the condition keeps them in
    /// bounds. If the first has predicates on split or fused axes, it reads at clamped indices. The prover does not model those.
    fn same_values(&self, a: &Node, b: &Node, full: &Prover<'_>) -> bool {
        let (NodeKind::Compute(a), NodeKind::Compute(b)) = (&a.kind, &b.kind) else { return true };
        let is_plain = a.preds.iter().all(|pred| self.program.axes[pred.axis].fate == Fate::Live);
        let same = a.value == b.value && a.finish == b.finish;
        let pairs = || a.values().zip(b.values());
        // If no tile can be full, the first block never runs.
        same || full.afresh().is_impossible()
            || (is_plain && a.values().count() == b.values().count() && pairs().all(|(a, b)| self.same_inside(a, b, full)))
    }

    fn same_inside(&self, got: ExprId, wanted: ExprId, full: &Prover<'_>) -> bool {
        let exprs = &self.program.exprs;
        let mut done = HashMap::new();
        let (got, wanted) = (self.unfilled(got, full, &mut done), self.unfilled(wanted, full, &mut done));
        let (mut open, mut seen) = (vec![(got, wanted)], HashSet::new());
        while let Some((got, wanted)) = open.pop() {
            if got == wanted || !seen.insert((got, wanted)) {
                continue;
            }
            match (exprs.get(got), exprs.get(wanted)) {
                (Expr::Read(got), Expr::Read(wanted)) if got.buffer == wanted.buffer && got.index == wanted.index => {
                    if !self.is_inside(got, wanted, full) {
                        return false;
                    }
                }
                (a, b) if a.map(&mut |_| got) == b.map(&mut |_| got) => open.extend(a.operands().into_iter().zip(b.operands())),
                _ => return false,
            }
        }
        true
    }

    /// Returns a value with the element in place of each `select` that fills past the end of an axis, if the axis is within its extent.
    fn unfilled(&self, value: ExprId, full: &Prover<'_>, done: &mut HashMap<ExprId, ExprId>) -> ExprId {
        if let Some(known) = done.get(&value) {
            return *known;
        }
        let is_sure = |index: ExprId| !self.program.is_clamped_apart(index);
        let new = self.program.exprs.replace(value, &mut |exprs, part| {
            let Expr::Select(cond, _, element) = *exprs.get(part) else { return None };
            let Expr::Compare(Compare::Ge, a, b) = *exprs.get(cond) else { return None };
            let is_inside = exprs.is_index(a) && is_sure(a) && is_sure(b) && full.afresh().less(a, b);
            is_inside.then(|| self.unfilled(element, full, done))
        });
        done.insert(value, new);
        new
    }

    /// True if the first read is in bounds on each side that only the second one clamps or fills.
    fn is_inside(&self, got: &Read, wanted: &Read, full: &Prover<'_>) -> bool {
        let sides = |outside: &Outside| match outside {
            Outside::Never => got.index.iter().map(|_| (false, false)).collect::<Sides>(),
            Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.clone(),
        };
        let alike = match (&got.outside, &wanted.outside) {
            (Outside::Never, Outside::Clamp(_) | Outside::Fill(..)) | (Outside::Clamp(_), Outside::Clamp(_)) => true,
            (Outside::Fill(got, _), Outside::Fill(wanted, _)) => got == wanted,
            _ => false,
        };
        alike
            && self.program.dimensions(got).zip(sides(&got.outside).iter().zip(&sides(&wanted.outside))).all(
                |((index, extent), (got, wanted))| {
                    let is_sure = !self.program.is_clamped_apart(index);
                    (got.0 == wanted.0 || (wanted.0 && is_sure && full.afresh().nonneg(index)))
                        && (got.1 == wanted.1 || (wanted.1 && is_sure && full.afresh().less(index, extent)))
                },
            )
    }

    /// True if one of the conditions says that the axis is in a full tile, and the point is within that tile: because of the remaining
    /// predicates, or because it is in a full tile itself.
    fn is_full(&self, axis: AxisId, kept: &[AxisId], conds: &[ExprId]) -> bool {
        let Some(full) = self.program.in_full_tile(axis) else { return false };
        let Fate::Split(split) = &self.program.axes[axis].fate else { return false };
        let point = self.program.predicates(&split.parts[1..]);
        let is_within = |axis: AxisId| kept.contains(&axis) || self.is_full(axis, kept, conds);
        conds.iter().any(|cond| self.says(*cond, full)) && point.iter().all(|pred| is_within(pred.axis))
    }

    /// True if a condition implies another one, as the same condition or as a conjunction that contains it.
    fn says(&self, cond: ExprId, what: ExprId) -> bool {
        let both = |a: ExprId, b: ExprId| self.says(a, what) || self.says(b, what);
        let exprs = &self.program.exprs;
        cond == what || matches!(*exprs.get(cond), Expr::Binary(Binary::And, a, b) if exprs.is_walkable(cond) && both(a, b))
    }

    /// Checks that a condition, or a loop's end, is uniform: across all lanes, and across all invocations that must arrive together inside
    /// it.
    fn is_uniform(&mut self, cond: ExprId, sides: &[Node], span: SpanId) {
        let live = self.program.axes.ids().filter(|axis| self.program.axes[*axis].fate == Fate::Live);
        let leaves: HashSet<AxisId> = self.around.iter().map(|(axis, _)| *axis).chain(live).collect();
        let over = self.program.over_leaves(cond, &leaves);
        let unbound = |axis: AxisId| !self.around.iter().any(|(a, _)| *a == axis) && !self.program.is_single(axis);
        if self.program.exprs.uses_axis(over, &mut |axis| unbound(axis)) {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: `{cond}` names an axis that no loop around binds", Rule::Axes);
            self.errors.push(Error::new(span, what));
        }
        let meet = walk::nodes(sides).any(|node| match &node.kind {
            NodeKind::Barrier { .. } | NodeKind::AllReduce(_) => true,
            NodeKind::Loop(looped) => matches!(looped.exec, Exec::Matrix(_)),
            _ => false,
        });
        let differs = |axis: AxisId| match self.around.iter().find(|(a, _)| *a == axis) {
            Some((_, Exec::Lanes | Exec::Dot)) => true,
            Some((_, Exec::Bind(Level::Thread | Level::Lane | Level::Subgroup, _))) => meet,
            _ => false,
        };
        let differs = self.program.exprs.uses_axis(over, &mut |axis| differs(axis));
        if differs || !self.program.exprs.reads(over).is_empty() {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: `{cond}` can differ among invocations that must take the same branch", Rule::Uniformity);
            self.errors.push(Error::new(span, what));
        }
    }
}

/// Returns a block without its predicates and values.
fn bare(block: &Block) -> Block {
    let mut block = block.clone();
    walk::each_mut(&mut block, &mut |node| match &mut node.kind {
        NodeKind::Compute(compute) => {
            compute.preds.clear();
            compute.value.clear();
            compute.finish = None;
        }
        NodeKind::AllReduce(reduction) => reduction.preds.clear(),
        _ => {}
    });
    block
}
