//! Reductions whose items are read once for several elements: no read depends on a short axis of the result, only the value does. A histogram by
//! comparisons is one, such as the cells of a bilateral grid.
//!
//! An invocation reads each item once, and keeps the states of all elements along the short axes.

use super::draft::Draft;
use super::form::{Nest, Side, points, tail};
use super::machine::{Machine, power_above};
use super::number::near;
use super::tiles::slots;

/// The most elements along the short axes.
const STATES: i64 = 32;

/// The most items of the reduction. One invocation reads all of them.
const ITEMS: i64 = 256;

/// The invocations of a workgroup.
const THREADS: i64 = 32;

/// Returns the numbers of the short axes, if a stage is such a reduction.
pub(super) fn of(nest: &Nest) -> Option<Vec<usize>> {
    let is_idle = |axis: usize| nest.parallel[axis].exact.is_some() && nest.reads.iter().all(|read| !read.uses(axis));
    let idle: Vec<usize> = (0..nest.parallel.len()).filter(|axis| is_idle(*axis)).collect();
    let sides: Vec<Side> = idle.iter().map(|axis| nest.parallel[*axis].clone()).collect();
    let is_few = points(&sides).is_some_and(|states| (2..=STATES).contains(&states));
    let last = nest.parallel.len().checked_sub(1)?;
    let is_short = points(&nest.reduced).is_some_and(|items| (2..=ITEMS).contains(&items));
    let is_ragged = nest.parallel.iter().any(|side| side.ragged);
    (nest.monoid.is_some() && is_few && is_short && !is_ragged && !idle.contains(&last)).then_some(idle)
}

/// Plans the reduction.
pub(super) fn plan(nest: &Nest, idle: &[usize], machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some(last) = nest.parallel.last() else { return draft };
    let x = last.most.map_or(THREADS, power_above).min(THREADS).min(machine.invocations());
    let x = draft.number((machine, nest), "THREADS", x, near(x, 8..=128));
    let tile = |(n, side): (usize, &Side)| match side.exact {
        _ if n + 1 == nest.parallel.len() => format!("{}: {x}{}", side.name, tail(side.exact, x.value, "")),
        Some(all) if idle.contains(&n) => format!("{}: {all}", side.name),
        _ => format!("{}: 1", side.name),
    };
    let tiles: Vec<String> = nest.parallel.iter().enumerate().map(tile).collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots(tiles.len()).join(", ")), format!("{x} invocations"));
    draft.line(format!("distribute({} => thread(x))", last.name), "contiguous elements in x");
    let states: Vec<&str> = idle.iter().map(|n| nest.parallel[*n].name.as_str()).collect();
    let items = Nest::names(&nest.reduced);
    draft.line(format!("reorder({items}, {})", states.join(", ")), "each item is read once for all of them");
    draft.line(format!("unroll({})", states.join(", ")), "");
    draft
}
