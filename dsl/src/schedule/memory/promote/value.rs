//! The values of a copy's elements: the source's elements, and the values out of the source's bounds.
//!
//! A copy consists of whole boxes, which can exceed the tensor where a tile exceeds its axis. There it holds `fill`, or the nearest
//! element, because the reads of these elements have a predicate. If a rounded-up reduction does not have a predicate, its operand
//! must be the identity. So the fill is used wherever the tile exceeds the axis, even if the element is within the tensor.

use super::footprint::{Footprint, replaced};
use super::{Wanted, as_read};
use crate::algorithm::literal;
use crate::diag::{Error, Errors};
use crate::expr::{Compare, Expr, ExprId, Outside, Read, Sides};
use crate::nest::fill::{Known, at_fill, is_same, known_by};
use crate::nest::{AxisId, AxisKind, Body, BufferId, Fate, Program, State, Tail};
use crate::schedule::StageNest;

/// Returns the value of a copy's element.
pub(in crate::schedule) fn of(
    nest: &mut StageNest<'_>,
    wanted: &Wanted<'_>,
    footprint: &Footprint,
    warnings: &mut Errors,
) -> Result<ExprId, Error> {
    let dtype = nest.program.buffers[wanted.source].dtype;
    let fill = match &wanted.promote.fill {
        Some(expr) => {
            let constant = literal(expr, dtype)?;
            Some(nest.program.exprs.constant(constant))
        }
        None => None,
    };
    let sides = sides(nest, wanted.source, &footprint.index);
    let leaves = sides.iter().any(|(low, high)| *low || *high);
    let outside = match (footprint.outside.clone(), fill) {
        (Outside::Fill(pad, _), Some(fill)) if pad != fill && leaves => return Err(two_fills(nest, wanted, pad, fill)),
        (Outside::Clamp(given), Some(_)) if leaves && given.iter().any(|(low, high)| *low || *high) => {
            let error = Error::new(
                wanted.span,
                format!("`{}` is read with `clamp()`, so elements outside it are its nearest elements", wanted.promote.source),
            );
            return Err(error.help("leave out `fill`"));
        }
        (Outside::Fill(pad, _), _) if leaves => Outside::Fill(pad, sides),
        (_, Some(fill)) if leaves => Outside::Fill(fill, sides),
        _ if leaves => Outside::Clamp(sides),
        _ => Outside::Never,
    };
    if leaves {
        let how = if matches!(outside, Outside::Fill(..)) { "filled" } else { "clamped" };
        let what = format!("`{}` can exceed `{}`: it is {how} there", wanted.name, wanted.promote.source);
        nest.program.owe(what, State::Guarded, wanted.span);
    } else {
        nest.program.owe(format!("`{}` lies within `{}`", wanted.name, wanted.promote.source), State::Proved, wanted.span);
    }
    let read = Read { buffer: wanted.source, index: footprint.index.iter().copied().collect(), outside };
    let mut value = nest.program.exprs.add(Expr::Read(read), dtype);
    let mut cut = false;
    for (_, past) in axes_left(nest, wanted, footprint) {
        let Some(fill) = fill else { continue };
        if !beyond_too(nest, wanted, footprint, past) && !footprint.listed.is_empty() {
            value = nest.program.exprs.select(past, fill, value);
            cut = true;
        }
    }
    if wanted.promote.fill.is_some() && !leaves && !cut {
        let span = wanted.promote.fill.as_ref().map_or(wanted.span, |f| f.span);
        let warning = Error::new(span, format!("`fill` has no effect: `{}` is within `{}`", wanted.name, wanted.promote.source));
        warnings.push(warning.help("leave out `fill`"));
    }
    Ok(value)
}

/// Reports a fill that differs from the tensor's own padding.
fn two_fills(nest: &StageNest<'_>, wanted: &Wanted<'_>, pad: ExprId, fill: ExprId) -> Error {
    let (source, pad, fill) = (&wanted.promote.source, nest.text(pad), nest.text(fill));
    let span = wanted.promote.fill.as_ref().map_or(wanted.span, |f| f.span);
    let error = Error::new(span, format!("the copy cannot be filled by `{fill}`: `{source}` is padded by `{pad}`"));
    error.help(format!("the algorithm determines the values outside `{source}`: leave out `fill`"))
}

/// Returns the sides on which an index can exceed a buffer.
fn sides(nest: &StageNest<'_>, buffer: BufferId, index: &[ExprId]) -> Sides {
    let prover = nest.prover();
    let one = |(index, n): (&ExprId, &ExprId)| (!prover.nonneg(*index), !prover.less(*index, *n));
    index.iter().zip(&nest.program.buffers[buffer].shape).map(one).collect()
}

/// Returns the reduction's axes that the copy's tile can exceed, each with the condition under which it does.
fn axes_left(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, footprint: &Footprint) -> Vec<(AxisId, ExprId)> {
    let Some(read) = footprint.places.first().and_then(|(id, _)| as_read(&nest.program.exprs, *id)).cloned() else {
        return Vec::new();
    };
    let mut named = Vec::new();
    for index in &read.index {
        nest.program.exprs.uses_axis(*index, &mut |a| {
            named.push(a);
            false
        });
    }
    let mut left = Vec::new();
    for pred in nest.program.predicates(&named) {
        if nest.program.axes[pred.axis].kind != AxisKind::Reduction {
            continue;
        }
        let value = nest.program.exprs.axis(pred.axis);
        let value = nest.on_loops(value);
        if nest.program.exprs.uses_axis(value, &mut |a| wanted.place.inside.contains(&a)) {
            let value = replaced(nest, value, &footprint.listed);
            let extent = nest.on_loops(nest.program.axes[pred.axis].extent);
            let extent = replaced(nest, extent, &footprint.listed);
            let past = nest.program.exprs.compare(Compare::Ge, value, extent);
            // A bound that depends on axes that the list leaves out is not known to the copy.
            let unknown = nest.program.exprs.uses_axis(past, &mut |a| wanted.place.inside.contains(&a));
            if footprint.listed.is_empty() || !unknown {
                left.push((pred.axis, past));
            }
        }
    }
    left
}

/// True if the element is outside the tensor, and filled, whenever a condition holds. Indices that share axes with the condition
/// are tried first, because they are the likely ones.
fn beyond_too(nest: &StageNest<'_>, wanted: &Wanted<'_>, footprint: &Footprint, past: ExprId) -> bool {
    let exprs = &nest.program.exprs;
    let shape = &nest.program.buffers[wanted.source].shape;
    // The condition is often exactly such a comparison.
    let says = |(index, n): (&ExprId, &ExprId)| *exprs.get(past) == Expr::Compare(Compare::Ge, *index, *n);
    if footprint.read_at.iter().all(|index| index.iter().zip(shape).any(says)) {
        return true;
    }
    let prover = nest.prover().assuming(past, true);
    let is_independent = |index: ExprId| !exprs.uses_axis(index, &mut |axis| exprs.uses_axis(past, &mut |other| other == axis));
    let beyond = |index: &Vec<ExprId>| {
        let mut sides: Vec<(ExprId, ExprId)> = index.iter().copied().zip(shape.iter().copied()).collect();
        sides.sort_by_key(|(index, _)| is_independent(*index));
        sides.into_iter().any(|(index, n)| prover.less_equal(n, index))
    };
    footprint.read_at.iter().all(beyond)
}

/// Checks that the operands of a rounded-up reduction are still the identity out of bounds.
pub(in crate::schedule) fn check_identity(nest: &mut StageNest<'_>, wanted: &Wanted<'_>) -> Result<(), Error> {
    let Body::Reduce { monoid, .. } = nest.program.stages[nest.stage].body.clone() else { return Ok(()) };
    for pred in nest.path.compute.preds.clone() {
        if pred.tail != Tail::RoundUp || nest.program.notes.neutral.contains(&pred.axis) {
            continue;
        }
        for (item, identity) in nest.path.compute.value.iter().zip(&monoid.identity) {
            let program = &*nest.program;
            let known = known_by(program, *item, &|e| match program.exprs.get(e) {
                Expr::Read(read) => filled(nest, read, pred.axis),
                _ => None,
            });
            if is_same(known, at_fill(program, *identity, &|_| false)) {
                continue;
            }
            let (name, copy) = (nest.name(pred.axis), &wanted.name);
            let error = Error::new(
                wanted.span,
                format!(
                    "out of bounds of `{name}`, which is rounded up, `{copy}` does not make the item the identity of `{}`",
                    monoid.name
                ),
            );
            let span = match &nest.program.axes[pred.axis].fate {
                Fate::Split(split) => split.span,
                _ => wanted.span,
            };
            let error = error.note_at(span, format!("`{name}` is rounded up here"));
            let fills = nest.copies.last().is_some_and(|c| c.filled.iter().any(|(a, _)| *a == pred.axis));
            let help = match &wanted.promote.fill {
                None if wanted.promote.computed => "write `guard` instead of `round_up`".to_owned(),
                None => "write `fill: 0.0`, or `guard` instead of `round_up`".to_owned(),
                Some(_) if fills => "the fill must make the item the identity: 0.0 for a product that is summed".to_owned(),
                Some(_) => {
                    format!(
                        "out of bounds of `{name}` the copy can still be within the tensor: list the axes, so that it is filled there"
                    )
                }
            };
            return Err(error.help(help));
        }
    }
    Ok(())
}

/// Returns the known value of a read out of bounds of an axis.
fn filled(nest: &StageNest<'_>, read: &Read, axis: AxisId) -> Option<Known> {
    if let Some(copy) = nest.copies.iter().find(|c| c.buffer == read.buffer) {
        return copy.filled.iter().find(|(a, _)| *a == axis).map(|(_, value)| Known::exactly(*value));
    }
    let depends = read.index.iter().any(|i| nest.program.exprs.uses_axis(*i, &mut |a| nest.program.passes(a, axis)));
    depends.then_some(Known::exactly(0.0))
}

/// Returns the axes beyond whose ends a copy holds its fill.
pub(super) fn filled_axes(nest: &mut StageNest<'_>, wanted: &Wanted<'_>, footprint: &Footprint) -> Vec<(AxisId, f64)> {
    if let Some(copy) = nest.copies.iter().find(|c| c.buffer == wanted.source) {
        return copy.filled.clone();
    }
    let dtype = nest.program.buffers[wanted.source].dtype;
    let Some(Ok(constant)) = wanted.promote.fill.as_ref().map(|expr| literal(expr, dtype)) else { return Vec::new() };
    let left = axes_left(nest, wanted, footprint);
    let holds = |(axis, past): (AxisId, ExprId)| {
        let right = !footprint.listed.is_empty() || beyond_too(nest, wanted, footprint, past);
        right.then_some((axis, constant.value()))
    };
    left.into_iter().filter_map(holds).collect()
}

/// Marks a copy as finite if its source is.
pub(super) fn inherit_finite(program: &mut Program, source: BufferId, copy: BufferId, value: ExprId) {
    let finite = at_fill(program, value, &|_| false);
    let whole = program.checks.finite.contains(&source) && finite.is_finite();
    if whole && !program.checks.finite.contains(&copy) {
        program.checks.finite.push(copy);
    }
}
