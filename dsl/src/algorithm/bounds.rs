//! The proofs about sizes and indices that the checks need, and counterexamples for reads that may be out of bounds.

use super::Checker;
use super::ranges::IndexRange;
use crate::expr::{Expr as Node, ExprId};
use crate::facts::{Claim as Statement, Prover};
use crate::nest::Program;
use std::collections::HashMap;

/// The claim that an index is in bounds on one side of its dimension.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    /// True for the upper side.
    pub(super) is_high: bool,
    left: ExprId,
    right: ExprId,
}

impl Claim {
    /// Makes the two claims of an index in a range: `start <= index` and `index < end`.
    pub(super) fn both(index: ExprId, range: IndexRange) -> [Claim; 2] {
        [Claim { is_high: false, left: range.start, right: index }, Claim { is_high: true, left: index, right: range.end }]
    }

    /// Returns the claim as users write it.
    pub(super) fn wanted(self, program: &Program) -> String {
        let [left, right] = [self.left, self.right].map(|e| show(program, e));
        if self.is_high { format!("`{left} < {right}`") } else { format!("`{right} >= {left}`") }
    }

    fn statement(self) -> Statement<'static> {
        if self.is_high {
            Statement::Less(self.left.into(), self.right.into())
        } else {
            Statement::LessEqual(self.left.into(), self.right.into())
        }
    }
}

/// Returns an expression as users write it.
pub(super) fn show(program: &Program, e: ExprId) -> String {
    crate::nest::print::expr(program, e)
}

impl Checker<'_> {
    /// Returns a prover for the axes around the current place, which uses the conditions there if `conditions` is true.
    fn prover(&self, conditions: bool) -> Prover<'_> {
        let prover = self.prover_around();
        if conditions { self.assuming_conditions(prover) } else { prover }
    }

    fn prover_around(&self) -> Prover<'_> {
        let definition = &self.definition;
        Prover::new(&self.program).within(definition.axes.iter().chain(&definition.running).copied())
    }

    fn assuming_conditions<'p>(&self, prover: Prover<'p>) -> Prover<'p> {
        self.definition.conditions.iter().fold(prover, |prover, (cond, holds)| prover.assuming(*cond, *holds))
    }

    /// True if a side of a read whose index depends on data is proved, with the conditions around it and the facts about the data.
    pub(super) fn proves_of_data(&self, claim: Claim) -> bool {
        self.trusts() || self.assuming_conditions(self.prover_around().about_data()).proves(claim.statement())
    }

    /// True if proofs are skipped: they were done for other dtypes, or an error about the axes was already reported.
    fn trusts(&self) -> bool {
        !self.prove || self.definition.unclear
    }

    /// True if a side of a read is proved, with or without the conditions around it.
    pub(super) fn proves(&self, claim: Claim, conditions: bool) -> bool {
        self.trusts() || self.prover(conditions).proves(claim.statement())
    }

    /// True if an expression is proved to be at least 0.
    pub(super) fn proves_nonneg(&self, e: ExprId) -> bool {
        self.trusts() || self.prover(false).nonneg(e)
    }

    /// True if an expression is proved to be at least 1.
    pub(super) fn at_least_one(&self, e: ExprId) -> bool {
        self.trusts() || self.prover(true).positive(e)
    }

    /// Describes sizes and axes for which an index is out of bounds.
    pub(super) fn counterexample(&self, claim: Claim, index: ExprId, range: IndexRange) -> Option<String> {
        let example = self.prover(true).counterexample(claim.statement())?;
        let values: HashMap<&str, i64> = example.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        let at = |e| evaluate(&self.program, e, &values);
        let begins_at_zero = self.program.exprs.as_int(range.start) == Some(0);
        let found = match (at(index), at(range.start), at(range.end)) {
            (Some(index), _, Some(extent)) if begins_at_zero => format!("the index is {index}, the extent {extent}"),
            (Some(index), Some(start), Some(end)) => format!("the index is {index}, the range {start}..{end}"),
            (Some(index), ..) => format!("the index is {index}"),
            _ => "it is out of bounds".into(),
        };
        if example.values.is_empty() {
            return Some(found);
        }
        Some(format!("at {example} {found}"))
    }
}

/// Returns an index's value for named dims and axes.
fn evaluate(program: &Program, e: ExprId, values: &HashMap<&str, i64>) -> Option<i64> {
    match program.exprs.get(e) {
        Node::Const(_) => program.exprs.as_int(e),
        Node::Axis(axis) => values.get(program.axes[*axis].name.as_str()).copied(),
        Node::Dim(dim) => match (values.get(program.dims[*dim].name.as_str()), program.dims[*dim].derived) {
            (Some(value), _) => Some(*value),
            (None, Some(derived)) => evaluate(program, derived, values),
            (None, None) => None,
        },
        Node::Binary(op, a, b) => op.exact(evaluate(program, *a, values)?, evaluate(program, *b, values)?),
        _ => None,
    }
}
