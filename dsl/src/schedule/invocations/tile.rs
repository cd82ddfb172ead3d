//! `tile(i: 8, j: 32, k: 8 round_up => k_o) => workgroup(y, x)`: splits each axis into an outer part and an inner part of the given
//! extent. The inner part keeps the axis's name and place. The outer parts are bound to the target. Without a target, they are
//! placed together, in the given order, where the outermost of the axes was.
//!
//! Refused: the cases that [`split`] and [`super::distribute`] refuse.

use super::{distribute, strategy};
use crate::diag::{Error, SpanId};
use crate::nest::{Level, Tail};
use crate::schedule::loops::split;
use crate::schedule::{Applied, StageNest};
use crate::syntax::schedule::{By, TailWord, Target, Tile};

/// Applies the directive.
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

/// Checks that a tail is possible at a level: shifted tiles cannot be distributed, and the invocations of a workgroup cannot choose
/// between full tiles and the tail.
fn check_word(word: TailWord, level: Option<Level>) -> Applied {
    let (what, why) = match (word.tail, level) {
        (Tail::Shift, Some(_)) => {
            ("shift", "shifted tiles overlap, so several invocations or workgroups would write the same elements")
        }
        (Tail::Peel, Some(Level::Thread | Level::Subgroup | Level::Lane)) => {
            ("peel", "one workgroup would run a full tile and the tail at once")
        }
        _ => return Ok(()),
    };
    let help = if level == Some(Level::Workgroup) { "`guard` or `peel`" } else { "`guard`" };
    let error = Error::new(word.span, format!("tail `{what}` cannot be used on an axis distributed like this")).note(why);
    Err(error.help(format!("write {help}")))
}

/// Returns the name of the outer part: the given name, or one derived from the target.
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
