//! `tile(i: 8, j: 32, k: 8 round_up => k_o) => workgroup(y, x)`: each axis into an outer part and an inner one of the
//! given extent. The inner part keeps the axis's name and place. The outer parts go to the target; without one they
//! stand together, in the order given, where the outermost of the axes stood.
//!
//! Refused: what [`super::split`] and [`super::distribute`] refuse.

use super::{Applied, StageNest, distribute, split, strategy};
use crate::diag::{Error, SpanId};
use crate::nest::{Level, Tail};
use crate::syntax::schedule::{By, TailWord, Target, Tile};

/// The directive.
pub fn apply(nest: &mut StageNest<'_>, tiles: &[Tile], target: Option<&Target>, by: Option<By>, span: SpanId) -> Applied {
    let names: Vec<_> = tiles.iter().map(|t| t.axis.clone()).collect();
    let axes = nest.axes(&names)?;
    if let Some(target) = target {
        distribute::check_count(axes.len(), target)?;
        strategy::check(nest, &axes, &names, target, by)?;
        axes.iter().zip(&names).try_for_each(|(a, n)| distribute::check_axis(nest, *a, n.span, target))?;
    }
    let target_level = target.map(|t| t.level);
    for word in tiles.iter().filter_map(|t| t.tail) {
        check_word(word, target_level)?;
    }
    let place = axes.iter().filter_map(|a| nest.path.position(*a)).min();
    let mut outers = Vec::new();
    for (tile, axis) in tiles.iter().zip(&axes) {
        let name = outer_name(nest, tile, target)?;
        let factor = nest.positive(&tile.factor, "a factor")?;
        let factors = [None, Some((factor, tile.factor.span))];
        let parts = split::split(nest, *axis, tile.axis.span, &factors, tile.tail, &[name, tile.axis.text.clone()], span)?;
        outers.push(parts[0]);
    }
    match target {
        Some(target) => distribute::bind(nest, &outers, target, by, span),
        None => {
            let first = place.unwrap_or(nest.path.frames.len());
            let mut place = place.unwrap_or(0);
            for outer in &outers {
                if let Some(at) = nest.path.position(*outer) {
                    let frame = nest.path.remove(at);
                    nest.path.frames.insert(place.min(nest.path.frames.len()), frame);
                    place += 1;
                }
            }
            for (n, outer) in outers.iter().enumerate() {
                nest.vanish(*outer, first, &outers[..n]);
            }
            nest.take_hulls(span)?;
            nest.refresh();
            Ok(())
        }
    }
}

/// Tiles that are moved back are not distributed, and the invocations of a workgroup do not choose between full tiles and the tail.
fn check_word(word: TailWord, level: Option<Level>) -> Applied {
    let (what, why) = match (word.tail, level) {
        (Tail::Shift, Some(_)) => ("shift", "tiles that lie over each other would be written by several"),
        (Tail::Peel, Some(Level::Thread | Level::Subgroup | Level::Lane)) => {
            ("peel", "a full tile and the last one would run in one workgroup at once")
        }
        _ => return Ok(()),
    };
    let help = if level == Some(Level::Workgroup) { "`guard` or `peel`" } else { "`guard`" };
    let error = Error::new(word.span, format!("`{what}` is no tail of an axis that is distributed so")).note(why);
    Err(error.help(format!("write {help}")))
}

/// What the outer part is called: as said, or after where it goes.
fn outer_name(nest: &StageNest<'_>, tile: &Tile, target: Option<&Target>) -> Result<String, Error> {
    let (name, span) = match (&tile.outer, target.map(|t| t.level)) {
        (Some(name), _) => (name.text.clone(), name.span),
        (None, Some(Level::Workgroup)) => (format!("{}_workgroup", tile.axis), tile.axis.span),
        (None, Some(Level::Thread)) => (format!("{}_thread", tile.axis), tile.axis.span),
        (None, Some(Level::Subgroup)) => (format!("{}_subgroup", tile.axis), tile.axis.span),
        (None, Some(Level::Lane)) => (format!("{}_lane", tile.axis), tile.axis.span),
        (None, None) => (format!("{}_o", tile.axis), tile.axis.span),
    };
    nest.fresh(&name, span, &format!("{}: … => another_name", tile.axis))?;
    Ok(name)
}
