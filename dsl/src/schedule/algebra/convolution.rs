//! Shared parts of the decompositions of convolutions: finding the sum of products that a name denotes.
//!
//! [`super::winograd`] and [`super::im2col`] find the sum here, check their own requirements, and replace it. [`super::decompose`]
//! calls them.

use crate::diag::Error;
use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AxisId, Body, Monoid, Program, StageId};
use crate::schedule::stage_names;
use crate::syntax::Name;
use std::collections::BTreeMap;

/// A stage that is a sum.
pub(super) struct Sum {
    pub(in crate::schedule) stage: StageId,
    pub(in crate::schedule) monoid: Monoid,
    /// The axes that are summed.
    pub(in crate::schedule) over: Vec<AxisId>,
    pub(in crate::schedule) item: ExprId,
    /// The result as a function of the sum.
    pub(in crate::schedule) finish: ExprId,
}

/// Finds the sum that a name denotes. `help` describes the required form.
pub(in crate::schedule) fn sum(program: &Program, name: &Name, help: &str) -> Result<Sum, Error> {
    let stage = stage_names::find(program, name)?;
    let wrong = |what: &str| Err(no_sum(name, what, help));
    let Body::Reduce { monoid, over, lift, finish } = program.stages[stage].body.clone() else { return wrong("not a sum") };
    let [item] = lift[..] else { return wrong("not a sum") };
    if monoid.name != "sum" {
        return wrong(&format!("a `{}`, not a sum", monoid.name));
    }
    Ok(Sum { stage, monoid, over, item, finish })
}

/// Reports that a name does not denote the required sum.
pub(super) fn no_sum(name: &Name, what: &str, help: &str) -> Error {
    Error::new(name.span, format!("`{name}` is {what}")).help(help)
}

/// Returns the factors of a product.
pub(in crate::schedule) fn factors(program: &Program, e: ExprId) -> Vec<ExprId> {
    match *program.exprs.get(e) {
        Expr::Binary(Binary::Mul, a, b) if program.exprs.is_walkable(e) => [factors(program, a), factors(program, b)].concat(),
        _ => vec![e],
    }
}

/// Checks that the extents of axes depend on sizes only. `help` gives the reason.
pub(super) fn check_ranges(program: &Program, name: &Name, axes: &[AxisId], help: &str) -> Result<(), Error> {
    let depends = |axis: &&AxisId| program.exprs.uses_axis(program.axes[**axis].extent, &mut |_| true);
    match axes.iter().find(depends) {
        Some(axis) => {
            let error = Error::new(name.span, format!("the extent of `{}` depends on other axes", program.axes[*axis].name));
            Err(error.help(help))
        }
        None => Ok(()),
    }
}

/// The coefficients of an axis of the result and an axis of the sum in an index that contains both.
pub(super) type Pairs = BTreeMap<(AxisId, AxisId), (i64, i64)>;

/// Returns the pairs of axes along which a factor slides.
pub(in crate::schedule) fn pairs(program: &Program, e: ExprId, outs: &[AxisId], over: &[AxisId]) -> Pairs {
    // Windows that do not overlap are not sliding windows. For example, they can be groups of channels.
    let slides = |tap: AxisId, stride: i64| match program.exprs.as_int(program.axes[tap].extent) {
        Some(taps) => taps != 1 && (stride == 1 || stride.abs() < taps),
        None => stride == 1,
    };
    let mut pairs = Pairs::new();
    for read in program.exprs.reads(e) {
        for index in &read.index {
            let axes = program.exprs.linear(*index).axes;
            let times = |among: &[AxisId]| {
                axes.iter().filter(|(a, n)| **n != 0 && among.contains(a)).map(|(a, n)| (*a, *n)).collect::<Vec<_>>()
            };
            for (out, n) in times(outs) {
                pairs.extend(times(over).into_iter().filter(|(tap, _)| slides(*tap, n)).map(|(tap, m)| ((out, tap), (n, m))));
            }
        }
    }
    pairs
}
