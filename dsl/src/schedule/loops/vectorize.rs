//! `vectorize(oc, 4)`: splits an axis exactly and runs the inner part in lanes, as the components of vectors. The outer part keeps
//! the name; the lanes are innermost.
//!
//! Refused: a reduction's axis; a number of lanes that is not a power of two, is not proved to divide the extent, or makes vectors
//! of more than 16 bytes, for the result or for a read along the lanes; a result that is not contiguous along the axis; a
//! contiguous access whose alignment is not proved. The last error names the missing fact (`unaligned: scalar` allows access lane
//! by lane).

use super::lanes::{Along, Missing, along};
use super::{peel, split};
use crate::diag::{Error, SpanId};
use crate::expr::{ExprId, Read};
use crate::launch::DType;
use crate::nest::path::Frame;
use crate::nest::{AxisId, Exec, Pred, State};
use crate::schedule::{Applied, StageNest};
use crate::syntax::Name;
use crate::syntax::expr::Expr;

/// The maximum number of bytes of a vector.
const BYTES: i64 = 16;

/// Applies the directive.
pub fn apply(nest: &mut StageNest<'_>, name: &Name, lanes: &Expr, scalar: bool, span: SpanId) -> Applied {
    let count = nest.positive(lanes, "the number of lanes")?;
    by(nest, name, (count, lanes.span), scalar, span)
}

/// Vectorizes an axis by a number of lanes.
pub fn by(nest: &mut StageNest<'_>, name: &Name, (count, blame): (i64, SpanId), scalar: bool, span: SpanId) -> Applied {
    let axis = nest.axis(name)?;
    split::plain(nest, axis, name.span)?;
    peel::check_uniform(nest, axis, name.span, "lanes")?;
    let at = check(nest, axis, name, count, blame)?;
    check_divides(nest, axis, name, count)?;
    let inner = split::inner(nest, (axis, at), name, (count, "lanes"), span);
    if count > 1 {
        nest.path.frames.push(Frame::looped(inner, Exec::Lanes, span));
    }
    nest.take_hulls(span)?;
    nest.refresh();
    check_bytes(nest, inner, count, blame)?;
    check_accesses(nest, inner, name, count, scalar, span)
}

/// Checks the rules that do not need lanes yet. Returns the place of the axis's loop.
fn check(nest: &StageNest<'_>, axis: AxisId, name: &Name, count: i64, blame: SpanId) -> Result<Option<usize>, Error> {
    let at = split::plain(nest, axis, name.span)?;
    if nest.is_reduction(axis) {
        let error = Error::new(name.span, format!("`{name}` is a reduction's axis: its lanes would be combined into one element"));
        return Err(error.help("vectorize a parallel axis; `unroll` a reduction's, and its reads are grouped into wide ones"));
    }
    if let Some(lanes) = nest.path.frames.iter().find(|f| matches!(f.as_loop(), Some((_, Exec::Lanes)))) {
        let error = Error::new(name.span, "a stage is vectorized along one axis");
        return Err(error.note_at(lanes.span, "it is already vectorized here").help("leave one of the two out"));
    }
    if let Some(dot) = nest.path.frames.iter().find(|f| matches!(f.as_loop(), Some((_, Exec::Dot)))) {
        let error = Error::new(name.span, "a stage with a dot product is not vectorized, because its words are the vectors");
        return Err(error.note_at(dot.span, "the dot product is made here").help(format!("write `unroll({name})`")));
    }
    if !(count as u64).is_power_of_two() {
        return Err(Error::new(blame, format!("the number of lanes must be a power of two, not {count}")).help("write 2, 4 or 8"));
    }
    let dtypes = nest.program.stages[nest.stage].buffers().into_iter().map(|buffer| nest.program.buffers[buffer].dtype);
    let dtype = dtypes.max_by_key(|dtype| dtype.bytes()).unwrap_or(DType::F32);
    let bytes = i64::from(dtype.bytes());
    if count * bytes > BYTES {
        let error = Error::new(blame, format!("{count} lanes of {dtype} are {} bytes", count * bytes));
        return Err(error.help(format!("a vector has at most {BYTES} bytes: {} lanes", BYTES / bytes)));
    }
    Ok(at)
}

/// Checks that the split is exact.
fn check_divides(nest: &StageNest<'_>, axis: AxisId, name: &Name, count: i64) -> Applied {
    let extent = nest.program.axes[axis].extent;
    if nest.prover().divides(count, extent) {
        return Ok(());
    }
    let text = nest.text(extent);
    let error = Error::new(name.span, format!("the extent `{text}` of `{name}` is not proved to be a multiple of {count}"));
    Err(error.help(match nest.program.exprs.as_int(extent) {
        Some(_) => format!("choose a number of lanes that divides {text}, or a tile that {count} divides"),
        None => format!("tile `{name}` by a multiple of {count} first, or state `where {text} % {count} == 0`"),
    }))
}

/// Checks that every access is uniform, or wide and aligned, or intended to be lane by lane.
fn check_accesses(nest: &mut StageNest<'_>, lanes: AxisId, name: &Name, count: i64, scalar: bool, span: SpanId) -> Applied {
    let compute = nest.path.compute.clone();
    for access in &compute.dst {
        match along(nest, access.buffer, &access.index, lanes, count) {
            Along::Wide => {}
            Along::Unaligned(fact) if !scalar => return Err(unaligned(nest, access.buffer, name, count, &fact)),
            _ if scalar => {}
            _ => {
                let buffer = &nest.program.buffers[access.buffer].name;
                let error = Error::new(
                    name.span,
                    format!("`{buffer}` is not contiguous along `{name}`: its lanes would be written one by one"),
                );
                let last = nest.program.stages[nest.stage].axes.last().map(|a| nest.name(*a).to_owned());
                let help =
                    last.map_or_else(String::new, |l| format!("vectorize `{l}`, or write `unaligned: scalar` if that is intended"));
                return Err(error.help(help));
            }
        }
    }
    let mut narrow = 0;
    for read in reads(nest) {
        let sided = sided(&read);
        match along(nest, read.buffer, &read.index, lanes, count) {
            Along::Unaligned(fact) if !scalar && !sided => return Err(unaligned(nest, read.buffer, name, count, &fact)),
            Along::Wide | Along::Uniform if !sided => {}
            Along::Uniform => {}
            _ => narrow += 1,
        }
    }
    if let Some(fact) = predicate_fact(nest, lanes, count)
        && !scalar
    {
        let error = Error::new(name.span, format!("a vector of `{name}` can be partly out of bounds: `{fact}` is not proved"));
        return Err(error.help(format!("state it in the schedule's header, `where {fact}`, or write `unaligned: scalar`")));
    }
    if narrow > 0 {
        nest.program.owe(format!("{narrow} reads are lane by lane along `{name}`"), State::Guarded, span);
    }
    Ok(())
}

/// Checks that the elements read along the lanes fit in a vector. `check` does this for the result.
fn check_bytes(nest: &mut StageNest<'_>, lanes: AxisId, count: i64, blame: SpanId) -> Applied {
    for read in reads(nest) {
        let bytes = i64::from(nest.program.buffers[read.buffer].dtype.bytes());
        let index: Vec<ExprId> = read.index.iter().map(|index| nest.on_loops(*index)).collect();
        let moves = index.iter().any(|index| nest.program.exprs.uses_axis(*index, &mut |axis| axis == lanes));
        if count * bytes <= BYTES || !moves {
            continue;
        }
        let buffer = &nest.program.buffers[read.buffer];
        let error = Error::new(blame, format!("{count} lanes of `{}: {}` are {} bytes", buffer.name, buffer.dtype, count * bytes));
        return Err(error.help(format!("a vector has at most {BYTES} bytes: {} lanes", BYTES / bytes)));
    }
    Ok(())
}

fn unaligned(nest: &StageNest<'_>, buffer: crate::nest::BufferId, name: &Name, count: i64, missing: &Missing) -> Error {
    let buffer = &nest.program.buffers[buffer].name;
    let error = Error::new(
        name.span,
        format!("`{buffer}` is contiguous along `{name}`, but its vectors of {count} are not proved to be aligned"),
    );
    match missing {
        Missing::Fact(fact) => error.note(format!("the fact `{fact}` is missing")).help(format!(
            "state it in the schedule's header, `where {fact}`, or write `unaligned: scalar` for access lane by lane"
        )),
        Missing::Multiple(index) => error
            .note(format!("they begin at `{index}`, which is not always a multiple of {count}"))
            .help("write `unaligned: scalar` for access lane by lane, or first copy to registers, which need no alignment"),
        Missing::Other(reason) => error.note(reason.clone()).help("write `unaligned: scalar` for access lane by lane"),
    }
}

/// Returns the reads of the stage, including the reads of the finish.
fn reads(nest: &StageNest<'_>) -> Vec<Read> {
    nest.path.compute.values().flat_map(|value| nest.program.exprs.reads(value)).collect()
}

/// True if a read can be out of bounds in the innermost dimension, so that it cannot be wide.
fn sided(read: &Read) -> bool {
    use crate::expr::Outside;
    match &read.outside {
        Outside::Never => false,
        Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.last().is_some_and(|(low, high)| *low || *high),
    }
}

/// Returns a missing fact if the lanes of one vector can be on both sides of an inexact axis's end.
fn predicate_fact(nest: &mut StageNest<'_>, lanes: AxisId, count: i64) -> Option<String> {
    cut(nest, lanes, count).map(|pred| format!("{} % {count} == 0", nest.text(nest.program.axes[pred.axis].extent)))
}

/// Returns a predicate that can hold for some lanes of one vector only.
pub(super) fn cut(nest: &mut StageNest<'_>, lanes: AxisId, count: i64) -> Option<Pred> {
    for pred in nest.path.compute.preds.clone() {
        let value = nest.program.exprs.axis(pred.axis);
        let value = nest.on_loops_through(value, pred.axis);
        if !nest.program.exprs.uses_axis(value, &mut |a| a == lanes) {
            continue;
        }
        let extent = nest.program.axes[pred.axis].extent;
        let extent = nest.on_loops(extent);
        if !nest.prover().divides(count, extent) {
            return Some(pred);
        }
    }
    None
}
