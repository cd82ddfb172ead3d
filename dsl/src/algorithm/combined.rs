//! Reductions with a combiner of the kernel: `reduce(k in 0..K) { (x[k], k) } from (f32::NEG_INFINITY, 0) by |(a, i), (b, j)| …`.
//!
//! A schedule may combine items in any order and in parts, and combine with the identity any number of times. So the combiner must be
//! associative and commutative, and the identity must be neutral. Both are tested with numbers ([`evaluate::laws`](super::evaluate::laws)).

use super::evaluate::{Broken, laws};
use super::names::Symbol;
use super::reductions::Found;
use super::{Checked, Checker, Poisoned};
use crate::diag::Error;
use crate::expr::{Expr as Node, ExprId};
use crate::nest::{AxisId, Monoid, State};
use crate::syntax::expr::{Combiner, Expr, Reduce};
use tilewright_launch::DType;

impl Checker<'_> {
    /// Records a reduction with its own combiner, and returns its results: the components of the state.
    pub(super) fn combined(
        &mut self,
        reduce: &Reduce,
        combiner: &Combiner,
        over: Vec<AxisId>,
        items: Vec<ExprId>,
        only: Option<ExprId>,
    ) -> Checked<Vec<ExprId>> {
        for (item, block) in items.iter().zip(&reduce.items) {
            if self.is_index(*item) {
                self.must_fit(*item, block.value.span)?;
            }
        }
        let dtypes: Vec<DType> = items.iter().map(|item| self.program.exprs.dtype(*item)).collect();
        let identity = combiner.identity.iter().zip(&dtypes).map(|(value, dtype)| self.constant_value(value, *dtype));
        let identity = identity.collect::<Vec<_>>().into_iter().collect::<Checked<Vec<_>>>();
        let combine = self.operation(combiner, &dtypes);
        let (identity, combine) = (identity?, combine?);
        let exprs = &self.program.exprs;
        let identity: Vec<ExprId> = identity.into_iter().map(|value| exprs.constant(value)).collect();
        let lift = match only {
            Some(only) => items.iter().zip(&identity).map(|(item, none)| exprs.select(only, *item, *none)).collect(),
            None => items,
        };
        let monoid = Monoid { name: reduce.op.name().into(), identity, combine };
        // After an error, parts of the program are missing.
        let is_tested = match self.errors.is_empty().then(|| laws(&self.program, &monoid, &over, &lift)) {
            Some(Err(broken)) => return self.fail(refused(&broken, combiner)),
            Some(Ok(tested)) => tested,
            None => false,
        };
        let shown = if is_tested { "as far as tests show" } else { "which cannot be tested" };
        let what = format!("the combiner of `{}` is associative and commutative, {shown}", self.definition.name);
        self.program.owe(what, State::Assumed, combiner.span);
        let state = |(n, dtype): (usize, &DType)| self.program.exprs.add(Node::State(n as u32), *dtype);
        let results = dtypes.iter().enumerate().map(state).collect();
        self.definition.reduction = Some(Found { monoid, over, lift, least: 0, head: reduce.head });
        Ok(results)
    }

    /// Checks the combined state, over the components of the operands.
    fn operation(&mut self, combiner: &Combiner, dtypes: &[DType]) -> Checked<Vec<ExprId>> {
        let scope = self.names.enter();
        let mut named = Ok(());
        for (side, names) in combiner.operands.iter().enumerate() {
            for (n, (name, dtype)) in names.iter().zip(dtypes).enumerate() {
                let node = if side == 0 { Node::State(n as u32) } else { Node::Item(n as u32) };
                let value = self.program.exprs.add(node, *dtype);
                if self.declare(name, Symbol::Value(value)).is_err() {
                    self.poison(name);
                    named = Err(Poisoned);
                }
            }
        }
        let values: Vec<Checked<ExprId>> =
            combiner.combined.iter().zip(dtypes).map(|(value, dtype)| self.of_states(value, *dtype)).collect();
        self.names.leave(scope);
        named?;
        values.into_iter().collect()
    }

    /// Checks a component of the combined state, which depends on the two states alone.
    fn of_states(&mut self, value: &Expr, dtype: DType) -> Checked<ExprId> {
        let id = self.value_as(value, dtype)?;
        let exprs = &self.program.exprs;
        let what = match exprs.reads(id).first() {
            Some(read) => format!("reads `{}`", self.program.buffers[read.buffer].name),
            None if exprs.uses_axis(id, &mut |_| true) => "uses an axis".to_owned(),
            None if matches!(exprs.get(id), Node::Item(_)) => "is the second operand, whatever the first one is".to_owned(),
            None => return Ok(id),
        };
        let error = Error::new(value.span, format!("the combined state {what}"));
        self.fail(
            error.note("a combiner knows only two states").help("make it a component of the item, or use it around the reduction"),
        )
    }
}

/// Returns the error for a law that does not hold.
fn refused(broken: &Broken, combiner: &Combiner) -> Error {
    let error = Error::new(combiner.span, broken.what);
    let error = broken.cases.iter().fold(error, |error, case| error.note(case.clone()));
    error.note("a schedule combines items in any order and in parts, so the result would depend on it").help(broken.help)
}
