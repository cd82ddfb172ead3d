//! `tile(i: 8, j: 32 round_up => j_o) => workgroup(y, x)`.

use super::{Shape, factor, note_tail, some, tail};
use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::{Argument, Directive, Target};
use fastrand::Rng;

/// The levels that the outer parts are distributed to.
const LEVELS: [Option<&str>; 8] =
    [None, None, None, Some("workgroup"), Some("workgroup"), Some("workgroup"), Some("workgroup"), Some("thread")];

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let level = random.choice(LEVELS).flatten();
    let axes = some(candidates(nest, level), 3, random);
    tile(nest, axes, level, random)
}

/// Tiles axes, and distributes the outer parts to workgroups or to threads.
pub(super) fn to(nest: &mut Nest<'_>, level: &'static str, random: &mut Rng) -> Option<Directive> {
    let axes = some(candidates(nest, Some(level)), 3, random);
    tile(nest, axes, Some(level), random)
}

/// Tiles the reduction's axes.
pub(super) fn reduction(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let axes = nest.plain().into_iter().filter(|a| nest.axes[*a].reduction && nest.place(*a).is_some()).collect();
    let axes = some(axes, 2, random);
    tile(nest, axes, None, random)
}

/// Returns the axes that can be tiled for a level.
fn candidates(nest: &Nest<'_>, level: Option<&str>) -> Vec<usize> {
    let may = |a: &usize| match level {
        None => true,
        Some("workgroup") => nest.may_be_workgroup(*a),
        _ => nest.may_be_thread(*a) && nest.axes[*a].extent.literal().is_some(),
    };
    nest.plain().into_iter().filter(may).collect()
}

fn tile(nest: &mut Nest<'_>, axes: Vec<usize>, level: Option<&'static str>, random: &mut Rng) -> Option<Directive> {
    let first = axes.iter().filter_map(|a| nest.place(*a)).min();
    let (mut arguments, mut slots, mut outers) = (Vec::new(), Vec::new(), Vec::new());
    for axis in axes {
        let by = factor(nest.axes[axis].extent, random);
        let count = nest.axes[axis].extent.parts(by);
        let slot = match level {
            None => None,
            Some("thread") => match nest.thread_slot(count, random) {
                Some(slot) => Some(slot),
                None => continue,
            },
            Some(_) => random.choice(["x", "y", "z"]),
        };
        let word = tail(nest, axis, by, Shape { tile: true, level }, random);
        let name = nest.axes[axis].name.clone();
        let suffix = level.unwrap_or("o");
        let default = format!("{name}_{suffix}");
        let named = !nest.is_free(&default) || random.bool();
        let outer_name = if named { nest.fresh() } else { default };
        let outer = named.then(|| outer_name.clone());
        arguments.push(Argument::Tile { axis: name.clone(), factor: by.into(), tail: word, outer });
        slots.extend(slot);
        let (outer, inner) = cut(nest, axis, by, (name, outer_name));
        note_tail(nest, axis, word, (outer, inner), by);
        match (level, slot) {
            (Some("workgroup"), _) => nest.bind(outer, Exec::Workgroup),
            (Some(_), Some(slot)) => {
                nest.bind(outer, Exec::Thread(slot));
                nest.axes[inner].within_thread = true;
            }
            _ => {}
        }
        outers.push(outer);
    }
    if level.is_none() {
        gather(nest, &outers, first.unwrap_or(0));
    }
    let target = level.map(|level| Target { level, slots });
    let tile = Directive { name: "tile", arguments, produced: Vec::new(), keys: Vec::new(), target };
    (!tile.arguments.is_empty()).then_some(tile)
}

/// Splits an axis in the nest. Returns the outer part and the inner part.
pub(in crate::schedule) fn cut(nest: &mut Nest<'_>, axis: usize, by: i64, names: (String, String)) -> (usize, usize) {
    let extent = nest.axes[axis].extent;
    let place = nest.place(axis);
    let outer = nest.derive(axis, names.1, extent.parts(by));
    let inner = nest.derive(axis, names.0, Extent::Literal(by));
    nest.axes[inner].ragged |= !extent.divisible(by);
    nest.axes[inner].depends.clear();
    nest.axes[inner].contiguous = nest.axes[axis].contiguous;
    let at = place.unwrap_or(nest.path.len());
    if place.is_some() {
        nest.path.remove(at);
    }
    nest.appear(inner, at);
    nest.appear(outer, at);
    (outer, inner)
}

/// Moves the outer parts together, to the place of the first of the axes.
fn gather(nest: &mut Nest<'_>, outers: &[usize], first: usize) {
    let mut place = first;
    for outer in outers {
        if let Some(at) = nest.place(*outer) {
            nest.path.remove(at);
            nest.path.insert(place.min(nest.path.len()), *outer);
            place += 1;
        }
    }
}
