//! Long reductions, which two dispatches compute: one sum of all items would round too often, and few tiles would leave cores idle.

use super::{PIECE_AXIS, Product};
use crate::facts::Prover;
use crate::nest::Program;
use crate::plan::draft::Draft;
use crate::plan::form::{Nest, Side, points, tail};
use crate::plan::machine::{CHAIN, Machine};

/// The items of a piece. The last piece has as many, and its items past the end are 0, so a piece is a fraction of the chain that
/// makes a reduction long.
const SHORT: i64 = CHAIN / 4;

/// The most results that are computed in pieces, because each piece stores as many partial results. 256 tiles of 64 x 64 results use most
/// devices without pieces.
pub(super) const RESULTS: i64 = 1 << 20;

/// Returns the items of a piece. `None` if the reduction is not split, because it may be short, or because its results may be many.
pub(super) fn piece(product: &Product<'_>, program: &Program) -> Option<i64> {
    let (channel, window) = product.nest.reduced.split_last()?;
    let long = channel.least.saturating_mul(taps(window)?) > CHAIN;
    (long && product.is_split(program) && product.has_few_results(program)).then_some(SHORT)
}

impl Product<'_> {
    /// True if pieces of the reduction can be added, and if the order of additions matters.
    pub(super) fn is_split(&self, program: &Program) -> bool {
        let adds = self.nest.monoid.as_ref().and_then(|monoid| monoid.operation(&program.exprs));
        self.plain && !self.ragged && adds.is_some_and(|(_, dtype)| dtype.is_float())
    }

    /// True if the results are proved to be few.
    pub(super) fn has_few_results(&self, program: &Program) -> bool {
        let all = self.nest.parallel.iter().map(|side| side.extent).reduce(|all, more| program.exprs.product(all, more));
        all.is_none_or(|all| Prover::new(program).less_equal(all, RESULTS))
    }
}

/// Returns the number of positions of a window, if it is known and the window is not empty.
pub(super) fn taps(window: &[Side]) -> Option<i64> {
    points(window).filter(|count| *count > 0)
}

/// Makes a draft the plan of partial results, and adds the plan of their sum.
pub(super) fn plan(product: &Product<'_>, machine: &Machine<'_>, draft: Draft) -> Draft {
    let mut rest = Draft::default();
    let part = product.stage();
    rest.first(format!("rfactor({PIECE_AXIS} => {part})"), "a second dispatch adds the pieces");
    let axis = match product.nest.parallel.as_slice() {
        [one] => one.name.clone(),
        all => {
            rest.line(format!("fuse({} => points)", Nest::names(all)), "");
            "points".to_owned()
        }
    };
    let threads = machine.invocations();
    let threads = rest.number((machine, product.nest), "SUM_THREADS", threads, machine.sizes(threads));
    let word = tail(points(&product.nest.parallel), threads.value, "");
    rest.line(format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} invocations"));
    rest.line(format!("distribute({axis} => thread(x))"), "");
    draft.of_part(&part, rest)
}
