//! Branches: both sides compute the same. The first side may lack predicates, clamps and fills (`peel` leaves them out): where the
//! condition holds, its axes are within their extents and its reads inside their tensors. All other checks look at the second side, which
//! has them all.

use super::Rule;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Compare, Expr, ExprId, Outside, Read, Sides};
use crate::facts::Prover;
use crate::nest::print::Printer;
use crate::nest::{AxisId, Block, Dispatch, Exec, Fate, Level, Loop, Node, NodeKind, Program, Scope, Tail, walk};
use std::collections::HashSet;

/// The plan with the second side of each branch in its place, and what is wrong with that.
pub(super) fn second(program: &Program) -> (Vec<Dispatch>, Errors) {
    let mut errors = Errors::new();
    let mut plan = program.plan.clone();
    for dispatch in &mut plan {
        let mut walk = Walk { program, around: Vec::new(), conds: Vec::new(), errors: &mut errors };
        dispatch.body = walk.block(std::mem::take(&mut dispatch.body));
    }
    (plan, errors)
}

struct Walk<'w> {
    program: &'w Program,
    around: Vec<(AxisId, Exec)>,
    /// The conditions of the branches around that hold: of a second side, nothing is used.
    conds: Vec<ExprId>,
    errors: &'w mut Errors,
}

impl Walk<'_> {
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
                // To all other checks it is whole: what is left out is under predicates.
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
            let what = format!("{}: the sides of the branch on `{cond}` compute different things", Rule::Value);
            self.errors.push(Error::new(span, what));
        }
        for (a, b) in pairs {
            // What is filled runs past its end.
            let kept: Vec<AxisId> = a.preds().iter().filter(|pred| pred.tail != Tail::RoundUp).map(|pred| pred.axis).collect();
            for pred in b.preds().iter().filter(|pred| !a.preds().contains(pred)) {
                if !self.is_full(pred.axis, &kept, &conds) {
                    let name = Printer::new(self.program).axis(pred.axis);
                    let what = format!("{}: the full side of a branch may pass the end of `{name}`", Rule::Predicate);
                    self.errors.push(Error::new(a.span, what));
                }
            }
        }
        other
    }

    /// Whether two computes have the same values, but that the first one's reads are not clamped or filled where the condition keeps them
    /// inside. Where it has predicates on what is made of loops' axes, it reads at clamped places, of which the prover does not know.
    fn same_values(&self, a: &Node, b: &Node, full: &Prover<'_>) -> bool {
        let (NodeKind::Compute(a), NodeKind::Compute(b)) = (&a.kind, &b.kind) else { return true };
        let is_plain = a.preds.iter().all(|pred| self.program.axes[pred.axis].fate == Fate::Live);
        let same = a.value == b.value && a.finish == b.finish;
        let pairs = || a.values().zip(b.values());
        // Where no tile is full, the first side never runs.
        same || full.afresh().is_impossible()
            || (is_plain && a.values().count() == b.values().count() && pairs().all(|(a, b)| self.same_inside(a, b, full)))
    }

    fn same_inside(&self, got: ExprId, wanted: ExprId, full: &Prover<'_>) -> bool {
        let exprs = &self.program.exprs;
        let (mut open, mut seen) = (vec![(got, wanted)], HashSet::new());
        while let Some((got, wanted)) = open.pop() {
            let (got, wanted) = (self.unfilled(got, full), self.unfilled(wanted, full));
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

    /// What is filled past the end of axes, where none of them is past its end: the element.
    fn unfilled(&self, mut value: ExprId, full: &Prover<'_>) -> ExprId {
        let exprs = &self.program.exprs;
        let is_sure = |index: ExprId| !self.program.is_clamped_apart(index);
        while let Expr::Select(cond, _, element) = *exprs.get(value)
            && let Expr::Compare(Compare::Ge, a, b) = *exprs.get(cond)
            && exprs.is_index(a)
            && is_sure(a)
            && is_sure(b)
            && full.afresh().less(a, b)
        {
            value = element;
        }
        value
    }

    /// Whether a read is inside wherever it does not say what is outside, and the other does.
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

    /// Whether one of the conditions is that the axis is in a full tile, and the point is within the tile: by the predicates that are left,
    /// or because it is in a full tile itself.
    fn is_full(&self, axis: AxisId, kept: &[AxisId], conds: &[ExprId]) -> bool {
        let Some(full) = self.program.in_full_tile(axis) else { return false };
        let Fate::Split(split) = &self.program.axes[axis].fate else { return false };
        let point = self.program.predicates(&split.parts[1..]);
        let is_within = |axis: AxisId| kept.contains(&axis) || self.is_full(axis, kept, conds);
        conds.iter().any(|cond| self.says(*cond, full)) && point.iter().all(|pred| is_within(pred.axis))
    }

    /// Whether a condition is another one, and maybe more.
    fn says(&self, cond: ExprId, what: ExprId) -> bool {
        let both = |a: ExprId, b: ExprId| self.says(a, what) || self.says(b, what);
        let exprs = &self.program.exprs;
        cond == what || matches!(*exprs.get(cond), Expr::Binary(Binary::And, a, b) if exprs.is_walkable(cond) && both(a, b))
    }

    /// By a condition, or a loop's end, all lanes go the same way, and so do all invocations that must arrive together in what it governs.
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
            NodeKind::Copy(copy) => copy.by != Scope::Invocation,
            _ => false,
        });
        let differs = |axis: AxisId| match self.around.iter().find(|(a, _)| *a == axis) {
            Some((_, Exec::Lanes)) => true,
            Some((_, Exec::Bind(Level::Thread | Level::Lane | Level::Subgroup, _))) => meet,
            _ => false,
        };
        let differs = self.program.exprs.uses_axis(over, &mut |axis| differs(axis));
        if differs || !self.program.exprs.reads(over).is_empty() {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: `{cond}` can differ among those who must go the same way", Rule::Uniformity);
            self.errors.push(Error::new(span, what));
        }
    }
}

/// A block without predicates and values.
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
