//! How an access varies along the lanes: the analysis that `vectorize` and copies use.
//!
//! Registers do not have addresses, so an access of them needs no alignment: each lane names a component of a variable. So a stencil
//! in registers reads its taps by extracts and shuffles.

use crate::expr::{Binary, Compare, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisId, BufferId, Space};
use crate::schedule::StageNest;

/// How an access varies along the lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Along {
    /// All lanes access one element.
    Uniform,
    /// All lanes access consecutive elements that are aligned or in registers: one wide access.
    Wide,
    /// Consecutive elements, but a wide access is not proved to be aligned.
    Unaligned(Missing),
    /// Neither uniform nor consecutive, so each lane accesses its element separately.
    Scattered,
}

/// The reason why a wide access is not proved to be aligned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// This fact is missing. A schedule can state it.
    Fact(String),
    /// No fact about sizes makes this index a multiple of the number of lanes.
    Multiple(String),
    /// No fact about sizes helps, for this reason.
    Other(String),
}

/// Classifies an access along `lanes`, whose extent is `count`.
pub fn along(nest: &mut StageNest<'_>, buffer: BufferId, index: &[ExprId], lanes: AxisId, count: i64) -> Along {
    match in_order(nest, buffer, index, lanes, count) {
        Along::Unaligned(_) | Along::Scattered if nest.program.buffers[buffer].space == Space::Register => Along::Wide,
        along => along,
    }
}

/// Classifies an access along `lanes`, whose extent is `count`. Registers are treated like memory, because the variables of their rows hold
/// consecutive elements.
pub fn in_order(nest: &mut StageNest<'_>, buffer: BufferId, index: &[ExprId], lanes: AxisId, count: i64) -> Along {
    let leaves: Vec<ExprId> = index.iter().map(|i| nest.on_loops(*i)).collect();
    let differences: Vec<ExprId> = leaves.iter().map(|i| difference(nest, *i, lanes)).collect();
    let zero = nest.program.exprs.int(0);
    let first = leaves.last().map(|last| nest.program.exprs.with_axes(*last, &mut |axis| (axis == lanes).then_some(zero)));
    let prover = Prover::on_leaves(nest.program);
    let known = |difference: ExprId| match nest.program.exprs.as_int(difference) {
        Some(step) => Some(step),
        None => i64::try_from(prover.poly(difference)?.as_constant()?).ok(),
    };
    // The digits of an axis, such as `k / 4` and `k % 4`, differ by literals once the lanes are literals.
    let digit = |index: ExprId| {
        let at = |lane: i64| {
            let lane = nest.program.exprs.int(lane);
            nest.program.exprs.with_axes(index, &mut |axis| (axis == lanes).then_some(lane))
        };
        let from_first = |lane: i64| known(nest.program.exprs.difference(at(lane), at(0)));
        let step = from_first(1)?;
        (2..count).all(|lane| from_first(lane) == Some(lane * step)).then_some(step)
    };
    let steps = differences.iter().zip(&leaves).map(|(difference, index)| known(*difference).or_else(|| digit(*index)));
    let steps: Vec<Option<i64>> = steps.collect();
    if steps.iter().all(|s| *s == Some(0)) {
        return Along::Uniform;
    }
    let Some(((last, outer), first)) = steps.split_last().zip(first) else { return Along::Uniform };
    if *last != Some(1) || outer.iter().any(|s| *s != Some(0)) {
        return Along::Scattered;
    }
    if !prover.divides(count, first) {
        return Along::Unaligned(missing(nest, first, count));
    }
    let padded = i64::from(nest.program.buffers[buffer].row_pad);
    if padded % count != 0 {
        return Along::Unaligned(Missing::Other(format!("{count} does not divide the `row_pad` of {padded}")));
    }
    if let Some(strides) = nest.program.strides(buffer) {
        return by_strides(nest, strides, &leaves, count);
    }
    if let Some(row) = nest.program.buffers[buffer].shape.last().copied()
        && outer.iter().zip(&leaves).any(|(_, i)| nest.program.exprs.as_int(*i) != Some(0))
        && !prover.divides(count, row)
    {
        return Along::Unaligned(missing(nest, row, count));
    }
    Along::Wide
}

/// Classifies consecutive indices whose first is a multiple of `count`. Vectors are aligned if all other strides are multiples,
/// too.
fn by_strides(nest: &StageNest<'_>, strides: &[ExprId], index: &[ExprId], count: i64) -> Along {
    let (exprs, prover) = (&nest.program.exprs, nest.prover());
    let Some((last, outer)) = strides.split_last() else { return Along::Uniform };
    if exprs.as_int(*last) != Some(1) {
        return Along::Scattered;
    }
    let moved = outer.iter().zip(index).filter(|(_, index)| exprs.as_int(**index) != Some(0));
    match moved.map(|(stride, _)| *stride).find(|stride| !prover.divides(count, *stride)) {
        Some(stride) => Along::Unaligned(missing(nest, stride, count)),
        None => Along::Wide,
    }
}

/// Returns the fact that makes `count` divide an index, if one exists. A schedule states facts about sizes, and not about axes.
fn missing(nest: &StageNest<'_>, index: ExprId, count: i64) -> Missing {
    let exprs = &nest.program.exprs;
    let mut sizes = exprs.linear(index);
    sizes.axes.clear();
    sizes.constant %= count;
    // `j * W` is a multiple for every `j` if `W` is one.
    let one = exprs.int(1);
    for (rest, _) in &mut sizes.rest {
        *rest = exprs.with_axes(*rest, &mut |_| Some(one));
    }
    let is_known = sizes.rest.is_empty();
    let sizes = exprs.of_linear(&sizes, &[]);
    let (rest, zero) = (exprs.binary(Binary::FloorMod, sizes, exprs.int(count)), exprs.int(0));
    let fact = exprs.compare(Compare::Eq, rest, zero);
    match !is_known && nest.prover().assuming(fact, true).divides(count, index) {
        true => Missing::Fact(format!("{} % {count} == 0", wrap(&nest.text(sizes)))),
        false => Missing::Multiple(nest.text(index)),
    }
}

/// Returns the growth of an index from one lane to the next.
fn difference(nest: &mut StageNest<'_>, index: ExprId, lanes: AxisId) -> ExprId {
    if !nest.program.exprs.uses_axis(index, &mut |a| a == lanes) {
        return nest.program.exprs.int(0);
    }
    let (lane, one) = (nest.program.exprs.axis(lanes), nest.program.exprs.int(1));
    let next = nest.program.exprs.sum(lane, one);
    let moved = nest.program.exprs.replace(index, &mut |_, id| (id == lane).then_some(next));
    nest.program.exprs.difference(moved, index)
}

fn wrap(text: &str) -> String {
    // The text is a dim or a stride, for example `x.stride(0)`.
    let is_name = text.chars().all(|c| c.is_alphanumeric() || "_.()".contains(c));
    if is_name { text.to_owned() } else { format!("({text})") }
}
