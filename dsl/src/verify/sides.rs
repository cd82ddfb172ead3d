//! Branches: both sides compute the same, and where the condition holds, what the first side has no predicates for is within its
//! extent (`peel` leaves them out). So to all other checks a branch is its second side, which has them all.

use super::Rule;
use crate::diag::{Error, Errors, SpanId};
use crate::expr::{Binary, Expr, ExprId};
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
            NodeKind::Loop(Loop { axis, exec, body }) => {
                self.around.push((axis, exec));
                let body = self.block(body);
                self.around.pop();
                NodeKind::Loop(Loop { axis, exec, body })
            }
            NodeKind::Alloc { buffer, body } => NodeKind::Alloc { buffer, body: self.block(body) },
            NodeKind::Branch { cond, then, other } => return self.branch(cond, then, other, span),
            leaf => leaf,
        };
        vec![Node { kind, span }]
    }

    fn branch(&mut self, cond: ExprId, then: Block, other: Block, span: SpanId) -> Block {
        let sides: Block = then.iter().chain(&other).cloned().collect();
        self.is_uniform(cond, &sides, span);
        self.conds.push(cond);
        let then = self.block(then);
        self.conds.pop();
        let other = self.block(other);
        let pairs: Vec<(&Node, &Node)> = walk::nodes(&then).zip(walk::nodes(&other)).collect();
        let more = |(a, b): &(&Node, &Node)| a.preds().iter().any(|pred| !b.preds().contains(pred));
        if bare(&then) != bare(&other) || pairs.iter().any(more) {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: the sides of the branch on `{cond}` compute different things", Rule::Value);
            self.errors.push(Error::new(span, what));
        }
        let conds: Vec<ExprId> = self.conds.iter().copied().chain([cond]).collect();
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
        cond == what || matches!(*self.program.exprs.get(cond), Expr::Binary(Binary::And, a, b) if both(a, b))
    }

    /// All lanes take the same side, and so do all invocations that must arrive together in one.
    fn is_uniform(&mut self, cond: ExprId, sides: &[Node], span: SpanId) {
        let live = self.program.axes.ids().filter(|axis| self.program.axes[*axis].fate == Fate::Live);
        let leaves: HashSet<AxisId> = self.around.iter().map(|(axis, _)| *axis).chain(live).collect();
        let over = self.program.over_leaves(cond, &leaves);
        let unbound = |axis: AxisId| !self.around.iter().any(|(a, _)| *a == axis) && !self.program.is_single(axis);
        if self.program.exprs.uses_axis(over, &mut |axis| unbound(axis)) {
            let cond = Printer::new(self.program).expr(cond);
            let what = format!("{}: the condition `{cond}` names an axis that no loop around binds", Rule::Axes);
            self.errors.push(Error::new(span, what));
        }
        let meet = walk::nodes(sides).any(|node| match &node.kind {
            NodeKind::Barrier { .. } | NodeKind::AllReduce(_) | NodeKind::Fragment(_) => true,
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
            let what = format!("{}: the condition `{cond}` can differ among those who must take the same side", Rule::Uniformity);
            self.errors.push(Error::new(span, what));
        }
    }
}

/// A block without predicates.
fn bare(block: &Block) -> Block {
    let mut block = block.clone();
    walk::each_mut(&mut block, &mut |node| match &mut node.kind {
        NodeKind::Compute(compute) => compute.preds.clear(),
        NodeKind::AllReduce(reduction) => reduction.preds.clear(),
        _ => {}
    });
    block
}
