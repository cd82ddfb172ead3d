//! How far apart two elements with clamped indices are at most. A clamp never stretches a range. The difference of two clamps is bounded by the
//! cases of their minima and maxima.

use crate::expr::linear::Linear;
use crate::expr::{Binary, Expr, ExprId, Exprs};
use crate::schedule::StageNest;

/// Cases that are looked at for one distance, at most.
const CASES: u32 = 256;

/// The most that the one is above the other.
pub(super) fn distance(nest: &mut StageNest<'_>, high: &Linear, low: &Linear) -> Option<i64> {
    let mut span = high.clone();
    span.add(low, -1);
    let whole = nest.program.exprs.of_linear(&span, &[]);
    upper(nest, whole, &mut { CASES })
}

/// An upper bound of a sum. A minimum that is added, or a maximum that is subtracted, may be replaced by either operand: the smaller bound
/// counts. Any other is one operand or the other, everywhere in the sum: the larger bound counts. Those cases come first.
fn upper(nest: &mut StageNest<'_>, sum: ExprId, cases: &mut u32) -> Option<i64> {
    if let Some(most) = nest.prover().upper(sum) {
        return Some(most);
    }
    *cases = cases.checked_sub(1)?;
    let mut found = Vec::new();
    choices(&nest.program.exprs, sum, Some(true), &mut found);
    let choice = found.iter().find(|choice| !choice.either).or(found.first())?;
    let (e, either) = (choice.e, choice.either);
    let bounds = choice.of.map(|one| {
        let with = nest.program.exprs.replace(sum, &mut |_, id| (id == e).then_some(one));
        let linear = nest.program.exprs.linear(with);
        let with = nest.program.exprs.of_linear(&linear, &[]);
        upper(nest, with, cases)
    });
    match (either, bounds) {
        (true, [Some(a), Some(b)]) => Some(a.min(b)),
        (true, [a, b]) => a.or(b),
        (false, [a, b]) => Some(a?.max(b?)),
    }
}

/// A minimum or maximum in a sum.
struct Choice {
    e: ExprId,
    of: [ExprId; 2],
    /// Whether either of the two is a bound of it, where it stands.
    either: bool,
}

/// The minima and maxima of an expression. `more`: whether the whole grows with it; `None`: it may do either.
fn choices(exprs: &Exprs, e: ExprId, more: Option<bool>, found: &mut Vec<Choice>) {
    match *exprs.get(e) {
        _ if !exprs.is_walkable(e) => {}
        Expr::Binary(Binary::Add, a, b) => [a, b].into_iter().for_each(|e| choices(exprs, e, more, found)),
        Expr::Binary(Binary::Sub, a, b) => {
            choices(exprs, a, more, found);
            choices(exprs, b, more.map(|more| !more), found);
        }
        Expr::Binary(Binary::Mul | Binary::FloorDiv, a, b) if exprs.as_int(b).is_some() => {
            let falls = exprs.as_int(b).is_some_and(|n| n < 0);
            choices(exprs, a, more.map(|more| more != falls), found);
        }
        Expr::Binary(op @ (Binary::Min | Binary::Max), a, b) => {
            found.push(Choice { e, of: [a, b], either: more == Some(op == Binary::Min) });
            [a, b].into_iter().for_each(|e| choices(exprs, e, more, found));
        }
        ref other => other.operands().into_iter().for_each(|e| choices(exprs, e, None, found)),
    }
}
