//! The tail `peel`: the full tiles run without predicates, and what is left of the axis in a copy of the nest, with the
//! extent `extent % tile`. The copy stands beside the full tiles, under the loops outside them; where the tiles are
//! workgroups, some of these run the copy. Directives after it apply to both ([`super::twins`]).
//!
//! Refused: tiles that go to threads, as the copies would run at once in one workgroup; more parts than a tile and its
//! place; more than [`LIMIT`] copies of a stage.

use super::split::parenthesized;
use super::{Applied, StageNest};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, ExprId};
use crate::facts::Prover;
use crate::nest::{AxisDef, AxisId, Condition, Fate, Level, State, Tail};
use tilewright_launch::Relation;

/// Copies of a stage's nest, at most.
pub const LIMIT: usize = 16;

/// What a refusal says that only concerns the copy.
pub const IN_THE_REST: &str = "this is in the copy of the nest that has the rest of a peeled axis, where extents are smaller";

/// Which piece of a peeled axis a copy of the nest has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// The full tiles.
    Full,
    /// What they leave.
    Rest,
}

/// Whether there can be a full tile; if not, the axis is a tail as a whole.
pub fn has_full_tiles(nest: &StageNest<'_>, axis: AxisId, tile: i64) -> bool {
    nest.program.exprs.as_int(nest.program.axes[axis].extent).is_none_or(|extent| extent >= tile)
}

/// Checks the word on an axis.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, factors: &[Option<(i64, SpanId)>], blame: SpanId) -> Result<Tail, Error> {
    let name = nest.name(axis).to_owned();
    if !matches!(factors, [None, Some(_)]) {
        let error = Error::new(blame, "`peel` takes off one tile, and this split has other parts than its place and its points");
        return Err(error.help(format!("split in two, `split({name}, [_, 8] peel => …)`, and then the tile")));
    }
    if nest.is_hosted() {
        let error = Error::new(blame, "`peel` would make a copy of what is computed within the nest of another stage");
        return Err(error.help("write `guard`, `round_up` or `shift` for this tail"));
    }
    if let Some(attached) = nest.placed.attached.first() {
        let error = Error::new(blame, "`peel` would make a copy of the nest, and of what is promoted within it");
        let error = error.note_at(attached.span, "it was promoted here");
        return Err(error.help("write `guard`, `round_up` or `shift` for this tail"));
    }
    let makes_one = nest.pieces.len() <= nest.peeled.len();
    if makes_one && nest.twins >= LIMIT {
        let error = Error::new(blame, format!("this would make more than {LIMIT} copies of the nest"));
        return Err(error.note("every `peel` doubles them").help("write `guard` for some of the tails"));
    }
    not_negative(nest, axis, blame)?;
    nest.program.owe(format!("`{name}` runs in full tiles, and its rest in a copy of the nest"), State::Proved, blame);
    Ok(Tail::Peel)
}

/// The rest of what has fewer than no points would be some: that there are none is proved, or checked at launch.
fn not_negative(nest: &mut StageNest<'_>, axis: AxisId, blame: SpanId) -> Applied {
    let extent = nest.program.axes[axis].extent;
    // The axes in an extent are within theirs.
    if nest.prover().nonneg(extent) || Prover::new(nest.program).nonneg(extent) {
        return Ok(());
    }
    let (name, text) = (nest.name(axis).to_owned(), format!("{} >= 0", parenthesized(&nest.text(extent))));
    if nest.program.exprs.uses_axis(extent, &mut |_| true) {
        let error =
            Error::new(blame, format!("`peel` needs `{text}`, which is not proved, and the launch does not know that extent"));
        return Err(error.help("write `guard`"));
    }
    let right = nest.program.exprs.int(0);
    nest.program.owe(format!("the rest of `{name}` needs `{text}`"), State::CheckedAtLaunch, blame);
    nest.program.conditions.push(Condition { left: extent, relation: Relation::Ge, right, text, span: blame });
    Ok(())
}

/// The piece that this copy has: gives its tail, and the extents of its parts.
pub fn piece(nest: &mut StageNest<'_>, axis: AxisId, tile: i64, extents: &mut [ExprId]) -> Tail {
    let piece = nest.pieces.get(nest.peeled.len()).copied().unwrap_or(Piece::Full);
    nest.peeled.push((piece, axis));
    let [outer, inner] = extents else { return Tail::Peel };
    if piece == Piece::Full {
        return Tail::Peel;
    }
    let exprs = &mut nest.program.exprs;
    let (tile, one) = (exprs.int(tile), exprs.int(1));
    *inner = exprs.binary(Binary::FloorMod, nest.program.axes[axis].extent, tile);
    *outer = exprs.binary(Binary::Min, *inner, one);
    Tail::Rest
}

/// No axis that counts full tiles goes to threads.
pub fn check_distributed(nest: &StageNest<'_>, axis: AxisId, blame: SpanId, level: Level) -> Applied {
    let Some((peeled, span)) = counts_tiles(nest, axis).filter(|_| level != Level::Workgroup) else { return Ok(()) };
    let error = Error::new(
        blame,
        format!("`{}` counts the full tiles of `{peeled}`, and threads are no place for the rest", nest.name(axis)),
    );
    let error = error.note_at(span, "by the `peel` here");
    let error = error.note("the threads of a workgroup run the same nest: some would have a full tile, and others what is left");
    Err(error.help("distribute the tiles to workgroups, or write `guard`"))
}

/// The peeled axis whose tiles an axis counts, or a part of them.
pub fn counts_tiles<'n>(nest: &'n StageNest<'_>, axis: AxisId) -> Option<(&'n str, SpanId)> {
    match &nest.program.axes[axis].def {
        AxisDef::Root(_) | AxisDef::Made => None,
        AxisDef::Fused(digits) => digits.iter().find_map(|digit| counts_tiles(nest, *digit)),
        AxisDef::Part { of, part } => match &nest.program.axes[*of].fate {
            Fate::Split(split) if *part == 0 && matches!(split.tail, Tail::Peel | Tail::Rest) => Some((nest.name(*of), split.span)),
            // A hull, or a tile, of what counts them.
            _ => counts_tiles(nest, *of),
        },
    }
}

impl StageNest<'_> {
    /// Whether this is the copy that has the rest of a peeled axis.
    pub fn is_rest(&self) -> bool {
        self.model.is_some()
    }

    /// Whether an axis is what is left of a peeled one, or a part of that.
    pub fn is_of_rest(&self, axis: AxisId) -> bool {
        match &self.program.axes[axis].def {
            AxisDef::Root(_) | AxisDef::Made => false,
            AxisDef::Fused(digits) => digits.iter().any(|digit| self.is_of_rest(*digit)),
            AxisDef::Part { of, .. } => {
                matches!(&self.program.axes[*of].fate, Fate::Split(split) if split.tail == Tail::Rest) || self.is_of_rest(*of)
            }
        }
    }

    /// In the copy with the rest, an axis that is a literal in the other one becomes as long there, with predicates: so both
    /// have the same threads, copies and lanes. Gives the axis that loops bind then.
    pub fn as_in_full(&mut self, axis: AxisId, span: SpanId) -> Result<AxisId, Error> {
        let name = self.name(axis).to_owned();
        let Some(wanted) = self.model.as_ref().and_then(|model| model.extent(&name)) else { return Ok(axis) };
        let extent = self.program.axes[axis].extent;
        if self.program.exprs.as_int(extent) == Some(wanted) {
            return Ok(axis);
        }
        let on_loops = self.on_loops(extent);
        if !self.prover().less_equal(on_loops, wanted) {
            let text = self.text(extent);
            let error = Error::new(span, format!("`{name}` has the extent `{text}`, which is not proved to be at most {wanted}"));
            return Err(error.note(IN_THE_REST).help("write `guard` for the tail"));
        }
        let most = self.program.exprs.int(wanted);
        let at = self.path.position(axis);
        let hull = self.hull(axis, most, span);
        let frame = crate::nest::path::Frame::looped(hull, crate::nest::Exec::Serial, span);
        match at {
            Some(at) => self.path.frames[at].head = frame.head,
            None if wanted != 1 => {
                // Bounds that depend on it are further out.
                self.path.frames.push(frame);
                self.take_hulls(span)?;
                self.refresh();
            }
            None => {}
        }
        Ok(hull)
    }
}
