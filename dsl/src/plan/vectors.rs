//! Independent elements on a CPU, where an invocation is a lane of a vector and each workgroup costs as much as tens of elements.
//!
//! So a workgroup is one vector of invocations, which loop over many elements. Axes are not fused, because a vector of indices is divided lane
//! by lane. If rows may be shorter than a vector, invocations loop over them, and the axis before has the vector.

use super::draft::Draft;
use super::form::{Nest, Side, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};
use super::tiles::slots;

/// The rows of a workgroup.
const ROWS: i64 = 64;

/// The rows of a workgroup along the axis before the last, if there are more axes before it. The rows of another axis make up for it.
const INNER_ROWS: i64 = 16;

/// The elements of a workgroup, if there is one axis.
const ELEMENTS: i64 = 1024;

/// The neighbours of a window that an invocation computes at a time, because they share reads.
const NEIGHBOURS: i64 = 8;

/// The same along the last axis, and if each neighbour is several elements of that axis.
const FEW_NEIGHBOURS: i64 = 4;

/// The rows of neighbours that an invocation computes at a time if the window moves along them, too.
const HIGH: i64 = 4;

/// The most items that an invocation unrolls for all neighbours.
const MOST_UNROLLED: i64 = 512;

/// The reason for the tile of a workgroup.
const MANY: &str = "many elements for each workgroup";

/// Returns the length from which on each invocation can have several neighbours along the last axis.
pub(super) fn long_window(machine: &Machine<'_>) -> i64 {
    machine.lanes() * FEW_NEIGHBOURS
}

/// Plans a stage whose axis `sides.last()` has at least a vector of elements. Invocations loop over the axes after it.
pub(super) fn rows(nest: &Nest, sides: &[Side], machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some((last, outer)) = sides.split_last() else { return draft };
    let lanes = threads(nest, machine, &mut draft);
    let mut loops: Vec<String> = if outer.is_empty() {
        let rounds = ROWS / lanes.value;
        let rounds = draft.number((machine, nest), "ROUNDS", rounds, near(rounds, 1..=ROWS));
        let (name, tile) = (&last.name, lanes.times(rounds));
        draft.line(format!("tile({name}: {tile}{}) => workgroup(x)", tail(last.exact, tile.value, "")), MANY);
        draft.line(format!("tile({name}: {lanes} => {name}_o)"), "");
        vec![format!("{name}_o")]
    } else {
        let sizes: Vec<Number> = heights(nest, outer, machine, &mut draft).into_iter().chain([lanes.clone()]).collect();
        let tile = |(side, size): (&Side, &Number)| format!("{}: {size}{}", side.name, tail(side.exact, size.value, ""));
        let tiles: Vec<String> = sides.iter().zip(&sizes).map(tile).collect();
        draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots(sides.len()).join(", ")), MANY);
        outer.iter().zip(&sizes).filter(|(_, size)| size.value > 1).map(|(side, _)| side.name.clone()).collect()
    };
    draft.line(format!("distribute({} => thread(x))", last.name), format!("{lanes} invocations, a vector"));
    loops.extend(nest.parallel[sides.len()..].iter().map(|side| side.name.clone()));
    if !loops.is_empty() {
        draft.line(format!("serial({})", loops.join(", ")), "");
    }
    draft
}

/// Returns the invocations of a workgroup: one vector.
fn threads(nest: &Nest, machine: &Machine<'_>, draft: &mut Draft) -> Number {
    draft.number((machine, nest), "THREADS", machine.lanes(), machine.sizes(machine.lanes()))
}

/// Returns the rows of a workgroup along each axis: about [`ROWS`] along the last two together.
fn heights(nest: &Nest, outer: &[Side], machine: &Machine<'_>, draft: &mut Draft) -> Vec<Number> {
    let mut heights: Vec<Number> = vec![1.into(); outer.len()];
    let mut left = ROWS;
    for (n, side) in outer.iter().enumerate().rev().take(2) {
        let is_inner = n + 1 == outer.len();
        let most = if n > 0 && is_inner { INNER_ROWS } else { left };
        let size = most.min(side.exact.map_or(i64::MAX, power_above));
        let name = if is_inner { "ROWS" } else { "ROWS_OUTER" };
        heights[n] = draft.number((machine, nest), name, size, near(size, 1..=4 * ROWS));
        left /= size;
    }
    heights
}

/// The points of a window's stage that an invocation computes.
struct Window {
    /// The axis whose neighbours are computed at a time, and their number.
    near: usize,
    each: Number,
    /// The axis of the loop around them, and its length. If it is the axis of the neighbours, it counts groups of these.
    looped: usize,
    rows: Number,
    /// The rows that are computed at a time, if there are several.
    high: Option<Number>,
    /// The elements of an access along the last axis.
    wide: i64,
    lanes: Number,
}

impl Window {
    /// Chooses the points. Neighbours share reads along the last axis if only that moves the window and it is long, and else along the axis before it. If a read
    /// does not depend on the last axis, as the image of a convolution, an invocation computes one access of that axis, so that each element of
    /// the image serves several products.
    fn of(nest: &Nest, slides_along: bool, machine: &Machine<'_>, draft: &mut Draft) -> Option<Window> {
        let (last, row) = (nest.parallel.len().checked_sub(1)?, nest.parallel.len().checked_sub(2)?);
        let along_last = slides_along && nest.parallel[last].least >= long_window(machine);
        let (near_axis, looped) = if along_last { (last, row) } else { (row, row.saturating_sub(1)) };
        let uses_items = |read: &Touch| (0..nest.reduced.len()).all(|n| read.uses(nest.reduced_at(n)));
        let is_image = nest.reads.iter().any(|read| read.uses(row) && !read.uses(last) && uses_items(read));
        let wide = if is_image && !along_last { machine.vector(nest) } else { 1 };
        let each = if along_last || wide > 1 { FEW_NEIGHBOURS } else { NEIGHBOURS };
        let each = each.min(nest.parallel[near_axis].exact.map_or(i64::MAX, power_above));
        let rows = if looped == near_axis { ROWS / each } else { INNER_ROWS };
        let moves = |read: &Touch| read.uses(looped) && read.steps[nest.parallel.len()..].contains(&read.steps[looped]);
        let items = points(&nest.reduced).unwrap_or(MOST_UNROLLED).saturating_mul(each * wide * HIGH);
        let is_high = looped != near_axis && items <= MOST_UNROLLED && nest.reads.iter().any(moves);
        let of = (machine, nest);
        Some(Window {
            near: near_axis,
            each: draft.number(of, "EACH", each, near(each, 2..=16)),
            looped,
            rows: draft.number(of, "ROWS", rows, near(rows, HIGH..=ROWS)),
            high: is_high.then(|| draft.number(of, "HIGH", HIGH, near(HIGH, 2..=HIGH))),
            wide,
            lanes: threads(nest, machine, draft),
        })
    }

    /// Returns the number of elements of a workgroup along an axis.
    fn size(&self, axis: usize, last: usize) -> Number {
        let lanes = if axis == last { self.lanes.times(self.wide) } else { 1.into() };
        let rows = if axis == self.looped { lanes.times(&self.rows) } else { lanes };
        if axis == self.near { rows.times(&self.each) } else { rows }
    }
}

/// Plans a window of literal size.
pub(super) fn window(nest: &Nest, slides_along: bool, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some(window) = Window::of(nest, slides_along, machine, &mut draft) else { return draft };
    let Window { near, each, looped, high, wide, lanes, .. } = &window;
    let last = nest.parallel.len() - 1;
    let tile = |(n, side): (usize, &Side)| {
        let size = window.size(n, last);
        let word = tail(side.exact, size.value, if size.value > 1 { " peel" } else { "" });
        format!("{}: {size}{word}", side.name)
    };
    let tiles: Vec<String> = nest.parallel.iter().enumerate().map(tile).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots(last + 1).join(", ")), MANY);
    let (column, neighbour) = (&nest.parallel[last].name, &nest.parallel[*near].name);
    let place = match () {
        () if *near == last => format!("tile({column}: {each}) => thread(x)"),
        () if *wide > 1 => format!("tile({column}: {wide}) => thread(x)"),
        () => format!("distribute({column} => thread(x))"),
    };
    draft.line(place, format!("{lanes} invocations, a vector"));
    let row = &nest.parallel[*looped].name;
    let group = if looped == near { Some(each) } else { high.as_ref() };
    let rows = if let Some(group) = group {
        draft.line(format!("tile({row}: {group} => {row}_o)"), "");
        format!("{row}_o")
    } else {
        row.clone()
    };
    let rows_at_once = high.is_some().then_some(row.as_str());
    let items = nest.reduced.iter().map(|side| side.name.as_str()).chain(rows_at_once).chain([neighbour.as_str()]);
    let items: Vec<&str> = items.collect();
    draft.line(format!("reorder({rows}, {})", items.join(", ")), "one step of the window for all neighbours");
    draft.line(format!("serial({rows})"), "");
    draft.line(format!("unroll({})", items.join(", ")), "a window of literal size");
    if *wide > 1 {
        draft.line(format!("vectorize({column}, {wide}, unaligned: scalar)"), "16 bytes an access");
    }
    draft
}

/// Writes the directives for one axis, in accesses of `width` elements.
pub(super) fn line(nest: &Nest, (axis, extent): (&str, Option<i64>), width: i64, machine: &Machine<'_>, draft: &mut Draft) {
    let lanes = threads(nest, machine, draft);
    let access = lanes.value * width;
    let most = ELEMENTS / access;
    let rounds = extent.map_or(most, |extent| power_above(groups(extent, access)).clamp(1, most));
    let rounds = draft.number((machine, nest), "ROUNDS", rounds, near(rounds, 1..=4 * most));
    let tile = lanes.times(width).times(rounds.clone());
    let word = tail(extent, tile.value, if width > 1 { " peel" } else { "" });
    draft.line(format!("tile({axis}: {tile}{word}) => workgroup(x)"), MANY);
    let reason = format!("{lanes} invocations, a vector");
    if width > 1 {
        draft.line(format!("split({axis}, [_, {lanes}, {width}] => {axis}_o, {axis}_t, {axis}_v)"), reason);
        draft.line(format!("distribute({axis}_t => thread(x))"), "adjacent elements to adjacent invocations");
        draft.line(format!("vectorize({axis}_v, {width}, unaligned: scalar)"), "16 bytes an access");
    } else {
        draft.line(format!("tile({axis}: {lanes} => {axis}_o)"), reason);
        draft.line(format!("distribute({axis} => thread(x))"), "adjacent elements to adjacent invocations");
    }
    draft.line(format!("serial({axis}_o)"), "");
}
