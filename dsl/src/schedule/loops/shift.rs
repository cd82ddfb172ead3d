//! The tail `shift`: the last tile is moved back so that it ends at the end of the axis and overlaps the tile before it. All tiles
//! are whole and need no predicates.
//!
//! The axis must be at least as long as a tile. This is proved, or the launch refuses sizes for which it does not hold.
//!
//! Refused: a reduction's axis, because its points would be counted twice; a tensor updated in place or by atomics; an axis that is
//! distributed, because two invocations would write one element; a split with more parts than a tile index and a tile; an extent
//! that depends on loops, because the launch cannot check it.

use super::split::parenthesized;
use crate::diag::{Error, SpanId};
use crate::nest::{AxisDef, AxisId, Condition, Fate, How, Level, State, Tail};
use crate::schedule::{Applied, StageNest};
use tilewright_launch::Relation;

/// Checks the keyword `shift` on an axis, and ensures that the axis is long enough.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, factors: &[Option<(i64, SpanId)>], blame: SpanId) -> Result<Tail, Error> {
    let name = nest.name(axis).to_owned();
    if nest.is_reduction(axis) {
        let error = Error::new(blame, format!("`{name}` is a reduction's axis: `shift` would count points of it twice"));
        return Err(error.help("write `guard`, `peel` or `round_up`"));
    }
    if let Some(buffer) = nest.program.updated(nest.stage).first() {
        let name = &nest.program.buffers[*buffer].name;
        let error = Error::new(blame, format!("`{name}` is updated in place: `shift` would update elements of it twice"));
        return Err(error.help("write `guard` or `peel`"));
    }
    if nest.is_scattered() {
        let name = &nest.program.stages[nest.stage].name;
        let error = Error::new(blame, format!("`{name}` is scattered: `shift` would add items twice"));
        return Err(error.help("write `guard`"));
    }
    if let Some(frame) = nest.path.frames.iter().find(|f| f.as_loop().is_some_and(|(a, _)| is_atomic(nest, a))) {
        let name = &nest.program.stages[nest.stage].name;
        let error = Error::new(blame, format!("atomics add to `{name}`: `shift` would add to elements of it twice"));
        return Err(error.note_at(frame.span, "its reduction is distributed here").help("write `guard`"));
    }
    let [None, Some((tile, _))] = *factors else {
        let error = Error::new(blame, "`shift` needs a split into a tile index and one tile");
        return Err(error.help(format!("split in two, `split({name}, [_, 8] shift => …)`, and then the tile")));
    };
    let (extent, tile_expr) = (nest.program.axes[axis].extent, nest.program.exprs.int(tile));
    if nest.prover().less(extent, tile) {
        let text = nest.text(extent);
        let error = Error::new(blame, format!("`shift` needs a whole tile of {tile}, and `{name}` runs over `0..{text}`"));
        return Err(error.help("choose a smaller factor, or write `guard`"));
    }
    let text = format!("{} >= {tile}", parenthesized(&nest.text(extent)));
    let what = format!("the last tile of `{name}` is moved back, which needs `{text}`");
    // The launch may already check the condition, for the full tiles of a peel or for a similar axis.
    let checked = |c: &Condition| (c.left, c.relation, c.right) == (extent, Relation::Ge, tile_expr) && c.text == text;
    if nest.program.checks.conditions.iter().any(checked) && nest.program.report.ledger.iter().any(|owed| owed.what == what) {
        return Ok(Tail::Shift);
    }
    if nest.prover().less_equal(tile, extent) {
        nest.program.owe(what, State::Proved, blame);
        return Ok(Tail::Shift);
    }
    if nest.program.exprs.uses_axis(extent, &mut |_| true) {
        let error =
            Error::new(blame, format!("`shift` needs `{text}`, which is not proved, and the launch cannot check that extent"));
        return Err(error.help("write `guard`"));
    }
    nest.program.checks.conditions.push(Condition {
        left: extent,
        relation: Relation::Ge,
        right: tile_expr,
        text,
        span: blame,
        needed: false,
    });
    nest.program.owe(what, State::CheckedAtLaunch, blame);
    Ok(Tail::Shift)
}

fn is_atomic(nest: &StageNest<'_>, axis: AxisId) -> bool {
    nest.program.notes.strategies.get(&axis) == Some(&How::Atomic)
}

/// Checks that atomics do not add to an element twice.
pub(in crate::schedule) fn check_atomic(nest: &StageNest<'_>, blame: SpanId) -> Applied {
    let shifted = nest.axes.iter().find_map(|axis| match &nest.program.axes[*axis].fate {
        Fate::Split(split) if split.tail == Tail::Shift => Some((nest.name(*axis), split.span)),
        _ => None,
    });
    let Some((name, span)) = shifted else { return Ok(()) };
    let error = Error::new(blame, format!("atomics would add to elements twice: the last tile of `{name}` is moved back"));
    Err(error.note_at(span, format!("`{name}` is shifted here")).help("write `guard` for that tail, or `by: tree`"))
}

/// Checks that an axis made from a shifted axis is not distributed.
pub fn check_distributed(nest: &StageNest<'_>, axis: AxisId, blame: SpanId, level: Level) -> Applied {
    let Some((shifted, span)) = shifted(nest, axis) else { return Ok(()) };
    let who = match level {
        Level::Workgroup => "workgroups",
        _ => "threads",
    };
    let name = nest.name(axis);
    let error = Error::new(blame, format!("`{name}` is a part of `{shifted}`, whose last tile is moved back"));
    let error =
        error.note_at(span, format!("`{shifted}` is shifted here")).note(format!("two {who} would write the same elements"));
    Err(error.help("write `guard` or `peel` for the tail of the distributed axis"))
}

/// Returns the shifted axis that an axis is made from, and the place of the `shift`.
pub(in crate::schedule) fn shifted<'n>(nest: &'n StageNest<'_>, axis: AxisId) -> Option<(&'n str, SpanId)> {
    match &nest.program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => None,
        AxisDef::Fused(digits) => digits.iter().find_map(|digit| shifted(nest, *digit)),
        AxisDef::Part { of, .. } => match &nest.program.axes[*of].fate {
            Fate::Split(split) if split.tail == Tail::Shift => Some((nest.name(*of), split.span)),
            _ => shifted(nest, *of),
        },
    }
}
