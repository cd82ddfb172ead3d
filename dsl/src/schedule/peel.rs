//! The tail `peel`: full tiles run without predicates. Directives see a guarded tail; lowering writes what the tiles' loop encloses
//! twice, and a branch chooses (`lower::peel`).
//!
//! Refused: tiles that go to threads or lanes, which would run both at once; more parts than a tile and its place.

use super::{Applied, StageNest};
use crate::diag::{Error, SpanId};
use crate::nest::{AxisDef, AxisId, Fate, State, Tail};

/// Checks the word on an axis.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, factors: &[Option<(i64, SpanId)>], blame: SpanId) -> Result<Tail, Error> {
    let name = nest.name(axis).to_owned();
    if !matches!(factors, [None, Some(_)]) {
        let error = Error::new(blame, "`peel` takes off one tile, and this split has other parts than its place and its points");
        return Err(error.help(format!("split in two, `split({name}, [_, 8] peel => …)`, and then the tile")));
    }
    nest.program.owe(format!("`{name}` runs in full tiles without predicates, and its tail with them"), State::Guarded, blame);
    Ok(Tail::Peel)
}

/// No axis that counts the tiles of a peeled one goes to threads or lanes.
pub fn check_uniform(nest: &StageNest<'_>, axis: AxisId, blame: SpanId, place: &str) -> Applied {
    let Some((peeled, span)) = counts_tiles(nest, axis) else { return Ok(()) };
    let error = Error::new(
        blame,
        format!("`{}` counts the tiles of `{peeled}`, and {place} cannot have a full one and the tail at once", nest.name(axis)),
    );
    let error = error.note_at(span, "by the `peel` here");
    Err(error.help("distribute the tiles to workgroups, or write `guard`"))
}

/// The peeled axis whose tiles an axis counts, or a part of them.
fn counts_tiles<'n>(nest: &'n StageNest<'_>, axis: AxisId) -> Option<(&'n str, SpanId)> {
    match &nest.program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => None,
        AxisDef::Fused(digits) => digits.iter().find_map(|digit| counts_tiles(nest, *digit)),
        AxisDef::Part { of, part } => match &nest.program.axes[*of].fate {
            Fate::Split(split) if *part == 0 && split.tail == Tail::Peel => Some((nest.name(*of), split.span)),
            // A hull, or a tile, of what counts them.
            _ => counts_tiles(nest, *of),
        },
    }
}
