//! Independent elements on a CPU, where an invocation is a lane of a vector and each workgroup costs as much as tens of elements.
//!
//! So a workgroup is one vector of invocations, which loop over many elements. Axes are not fused, because a vector of indices is divided lane
//! by lane. If rows may be shorter than a vector, invocations loop over them, and the axis before has the vector.

use super::draft::Draft;
use super::form::{Nest, Side, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};

/// The invocations of a workgroup: a vector of eight.
pub(super) const LANES: i64 = 8;

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

/// Plans a stage whose axis `sides.last()` has at least a vector of elements. Invocations loop over the axes after it.
pub(super) fn rows(nest: &Nest, sides: &[Side], machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some((last, outer)) = sides.split_last() else { return draft };
    let lanes = draft.number((machine, nest), "THREADS", LANES, machine.sizes(LANES));
    let inner = nest.parallel[sides.len()..].iter().map(|side| side.name.as_str());
    if outer.is_empty() {
        let rounds = (ROWS / LANES).min(last.exact.map_or(i64::MAX, |extent| power_above(groups(extent, LANES))));
        let rounds = draft.number((machine, nest), "ROUNDS", rounds, near(rounds, 1..=ROWS));
        let tile = lanes.times(&rounds);
        let name = &last.name;
        draft.line(
            format!("tile({name}: {tile}{}) => workgroup(x)", tail(last.exact, tile.value, "")),
            "many elements for each workgroup",
        );
        draft.line(format!("tile({name}: {lanes} => {name}_o)"), format!("{lanes} invocations, a vector"));
        draft.line(format!("distribute({name} => thread(x))"), "");
        let loops: Vec<String> = [format!("{name}_o")].into_iter().chain(inner.map(str::to_owned)).collect();
        draft.line(format!("serial({})", loops.join(", ")), "");
        return draft;
    }
    let mut sizes: Vec<Number> = vec![1.into(); outer.len()];
    let mut left = ROWS;
    for (n, side) in outer.iter().enumerate().rev().take(2) {
        let most = if n > 0 && n + 1 == outer.len() { INNER_ROWS } else { left };
        let size = most.min(side.exact.map_or(i64::MAX, power_above));
        let name = if n + 1 == outer.len() { "ROWS" } else { "ROWS_OUTER" };
        sizes[n] = draft.number((machine, nest), name, size, near(size, 1..=4 * ROWS));
        left /= size;
    }
    sizes.push(lanes.clone());
    let tile = |(side, size): (&Side, &Number)| format!("{}: {size}{}", side.name, tail(side.exact, size.value, ""));
    let tiles: Vec<String> = sides.iter().zip(&sizes).map(tile).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots(sides.len())), "many elements for each workgroup");
    draft.line(format!("distribute({} => thread(x))", last.name), format!("{lanes} invocations, a vector"));
    let rows = outer.iter().zip(&sizes).filter(|(_, size)| size.value > 1).map(|(side, _)| side.name.as_str());
    let loops: Vec<&str> = rows.chain(inner).collect();
    if !loops.is_empty() {
        draft.line(format!("serial({})", loops.join(", ")), "");
    }
    draft
}

/// Plans a window of literal size. Neighbours are unrolled along the last axis if only that moves the window, and else along the axis before
/// it. An invocation loops over rows, or over groups of neighbours if there are two axes. If a read does not depend on the last axis, as the
/// image of a convolution, an invocation computes one access of that axis, so that each element of the image serves several products.
pub(super) fn window(nest: &Nest, along_last: bool, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let axes = nest.parallel.len();
    let Some(row) = axes.checked_sub(2) else { return draft };
    let of = (machine, nest);
    let (near_axis, looped) = if along_last { (axes - 1, row) } else { (row, row.saturating_sub(1)) };
    let near_side = &nest.parallel[near_axis];
    let is_shared =
        nest.reads.iter().any(|read| !read.uses(axes - 1) && (0..nest.reduced.len()).all(|n| read.uses(nest.reduced_at(n))));
    let wide = if is_shared && !along_last { machine.vector(nest) } else { 1 };
    let each = if along_last || wide > 1 { FEW_NEIGHBOURS } else { NEIGHBOURS };
    let each = each.min(near_side.exact.map_or(i64::MAX, power_above));
    let each = draft.number(of, "EACH", each, near(each, 2..=16));
    let grouped = looped == near_axis;
    let rows = if grouped { ROWS / each.value } else { INNER_ROWS };
    let rows = draft.number(of, "ROWS", rows, near(rows, 2..=ROWS));
    let lanes = draft.number(of, "THREADS", LANES, machine.sizes(LANES));
    let mut sizes: Vec<Number> = vec![1.into(); axes];
    sizes[axes - 1] = lanes.times(wide);
    sizes[looped] = rows;
    sizes[near_axis] = if near_axis == row && !grouped { each.clone() } else { sizes[near_axis].times(&each) };
    let tile = |(side, size): (&Side, &Number)| {
        let word = tail(side.exact, size.value, if size.value > 1 { " peel" } else { "" });
        format!("{}: {size}{word}", side.name)
    };
    let tiles: Vec<String> = nest.parallel.iter().zip(&sizes).map(tile).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots(axes)), "many elements for each workgroup");
    let (last, near_name) = (&nest.parallel[axes - 1].name, near_side.name.as_str());
    let place = match () {
        () if along_last => format!("tile({last}: {each}) => thread(x)"),
        () if wide > 1 => format!("tile({last}: {wide}) => thread(x)"),
        () => format!("distribute({last} => thread(x))"),
    };
    draft.line(place, format!("{lanes} invocations, a vector"));
    let mut groups = nest.parallel[looped].name.clone();
    if grouped {
        groups = format!("{near_name}_o");
        draft.line(format!("tile({near_name}: {each} => {groups})"), "");
    }
    let items: Vec<&str> = nest.reduced.iter().map(|side| side.name.as_str()).chain([near_name]).collect();
    draft.line(format!("reorder({groups}, {})", items.join(", ")), "one step of the window for all neighbours");
    draft.line(format!("serial({groups})"), "");
    draft.line(format!("unroll({})", items.join(", ")), "a window of literal size");
    if wide > 1 {
        draft.line(format!("vectorize({last}, {wide}, unaligned: scalar)"), "16 bytes an access");
    }
    draft
}

/// Returns the dimensions of the grid for this number of axes, the last of which is in `x`.
fn slots(axes: usize) -> String {
    (0..axes).rev().map(|n| ["x", "y", "z"][n.min(2)]).collect::<Vec<_>>().join(", ")
}

/// Writes the directives for one axis, in accesses of `width` elements.
pub(super) fn line(nest: &Nest, (axis, extent): (&str, Option<i64>), width: i64, machine: &Machine<'_>, draft: &mut Draft) {
    let lanes = draft.number((machine, nest), "THREADS", LANES, machine.sizes(LANES));
    let most = ELEMENTS / (LANES * width);
    let rounds = extent.map_or(most, |extent| power_above(groups(extent, LANES * width)).clamp(1, most));
    let rounds = draft.number((machine, nest), "ROUNDS", rounds, near(rounds, 1..=4 * most));
    let tile = lanes.times(width).times(rounds.clone());
    let word = tail(extent, tile.value, if width > 1 { " peel" } else { "" });
    draft.line(format!("tile({axis}: {tile}{word}) => workgroup(x)"), "many elements for each workgroup");
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
