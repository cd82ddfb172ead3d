//! The tail `peel`: full tiles run without predicates. For directives it is a guarded tail. Lowering duplicates the nest in the
//! loop over tiles, and a branch chooses between the two (`lower::branches`).
//!
//! Refused: tiles distributed to threads or lanes, because one workgroup would run both branches at once; a split with more parts
//! than a tile index and a tile.

use crate::diag::{Error, SpanId};
use crate::nest::{AxisDef, AxisId, Fate, State, Tail};
use crate::schedule::{Applied, StageNest};

/// Checks the keyword `peel` on an axis.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, factors: &[Option<(i64, SpanId)>], blame: SpanId) -> Result<Tail, Error> {
    let name = nest.name(axis).to_owned();
    if !matches!(factors, [None, Some(_)]) {
        let error = Error::new(blame, "`peel` needs a split into a tile index and one tile");
        return Err(error.help(format!("split in two, `split({name}, [_, 8] peel => …)`, and then the tile")));
    }
    nest.program.owe(format!("`{name}` runs in full tiles without predicates, and its tail with them"), State::Guarded, blame);
    Ok(Tail::Peel)
}

/// Checks that an axis that counts the tiles of a peeled axis is not distributed to threads or lanes.
pub fn check_uniform(nest: &StageNest<'_>, axis: AxisId, blame: SpanId, place: &str) -> Applied {
    let Some((peeled, span)) = counts_tiles(nest, axis) else { return Ok(()) };
    let error = Error::new(
        blame,
        format!(
            "`{}` counts the tiles of `{peeled}`, and {place} of one workgroup cannot run both a full tile and the tail",
            nest.name(axis)
        ),
    );
    let error = error.note_at(span, format!("`{peeled}` is peeled here"));
    Err(error.help("distribute the tiles to workgroups, or write `guard`"))
}

/// Returns the peeled axis whose tiles an axis counts, wholly or in part.
fn counts_tiles<'n>(nest: &'n StageNest<'_>, axis: AxisId) -> Option<(&'n str, SpanId)> {
    match &nest.program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => None,
        AxisDef::Fused(digits) => digits.iter().find_map(|digit| counts_tiles(nest, *digit)),
        AxisDef::Part { of, part } => match &nest.program.axes[*of].fate {
            Fate::Split(split) if *part == 0 && split.tail == Tail::Peel => Some((nest.name(*of), split.span)),
            // A hull or a tile of the axis that counts the tiles.
            _ => counts_tiles(nest, *of),
        },
    }
}
