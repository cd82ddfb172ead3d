//! The distance between two elements of a footprint.

use crate::expr::linear::Linear;
use crate::schedule::StageNest;

/// Returns an upper bound of the difference between two elements.
pub(super) fn distance(nest: &mut StageNest<'_>, high: &Linear, low: &Linear) -> Option<i64> {
    let mut span = high.clone();
    span.add(low, -1);
    let whole = nest.program.exprs.of_linear(&span, &[]);
    nest.prover().upper(whole)
}
