//! Stages whose elements are independent: values of several tensors element by element, stencils, small windows, gathers, and
//! transposes.
//!
//! The contiguous axis of the result goes to adjacent invocations, so that their accesses combine. An invocation moves 16 bytes
//! at a time if the alignment is proved.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};

/// The largest reduction that each invocation unrolls, in items: a window of 5 x 5, or a 3 x 3 window of few channels.
pub(super) const UNROLLED: i64 = 32;

/// The length from which on an axis has enough elements for the invocations of a row.
const LONG: i64 = 32;

/// The side of a square tile that is transposed through shared memory.
const SQUARE: i64 = 32;

/// Plans a stage.
pub(super) fn plan(nest: &Nest, machine: &Machine<'_>) -> Option<Draft> {
    let last = nest.parallel.last()?;
    if last.ragged || nest.parallel.iter().any(|side| side.ragged) {
        return None;
    }
    if let Some(read) = transposed(nest).filter(|_| machine.shares()) {
        return transpose(nest, read, machine);
    }
    let whole = nest.monoid.is_none() && nest.parallel.len() > 1 && last.exact.is_some_and(|n| n <= machine.vector(nest));
    if whole && nest.reads.is_empty() {
        return positions(nest, machine);
    }
    if is_flat(nest) || nest.parallel.len() == 1 {
        return Some(flattened(nest, machine));
    }
    if whole || (has_positions(nest) && last.least < LONG) {
        return positions(nest, machine);
    }
    if nest.monoid.is_none() && last.least < LONG && last.exact.is_none() {
        return Some(flattened(nest, machine));
    }
    Some(rows(nest, machine))
}

/// True if all tensors have the layout of the result, or are one element.
fn is_flat(nest: &Nest) -> bool {
    nest.monoid.is_none() && nest.all_reads().all(|read| read.same || read.steps.iter().all(|s| *s == Step::Stays))
}

/// Fuses all axes: if all tensors have one layout, or if rows may be short.
fn flattened(nest: &Nest, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let axis = fused(nest, &mut draft);
    let wide = is_flat(nest) || (nest.parallel.len() == 1 && nest.reduced.is_empty() && is_aligned(nest));
    let lanes = if wide { machine.vector(nest) } else { 1 };
    let extent = points(&nest.parallel);
    let accesses = extent.map_or(i64::MAX, |extent| power_above(groups(extent, lanes)));
    let threads = machine.invocations().min(accesses);
    let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
    if lanes == 1 {
        let word = tail(extent, threads.value, "");
        draft.line(format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} invocations"));
        draft.line(format!("distribute({axis} => thread(x))"), "adjacent elements to adjacent invocations");
        unroll(nest, &mut draft, &[]);
        return draft;
    }
    let tile = threads.times(lanes);
    let word = tail(extent, tile.value, " peel");
    let why = if word == " peel" { "whole tiles run without guards" } else { "one workgroup" };
    draft.line(format!("tile({axis}: {tile}{word}) => workgroup(x)"), why);
    draft.line(format!("tile({axis}: {lanes}) => thread(x)"), format!("{threads} invocations"));
    draft.line(format!("vectorize({axis}, {lanes}, unaligned: scalar)"), "16 bytes an access");
    draft
}

/// Fuses all parallel axes, and returns the name of the result.
fn fused(nest: &Nest, draft: &mut Draft) -> String {
    match nest.parallel.as_slice() {
        [one] => one.name.clone(),
        all => {
            draft.line(format!("fuse({} => points)", Nest::names(all)), "all tensors have one layout");
            "points".to_owned()
        }
    }
}

/// Distributes the last axis and the ones before it, because tensors differ in layout or neighbours share reads.
fn rows(nest: &Nest, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some((last, outer)) = nest.parallel.split_last() else { return draft };
    let aligned = is_aligned(nest) && last.divisor >= machine.vector(nest);
    let lanes = if aligned { machine.vector(nest) } else { 1 };
    let windowed = !nest.reduced.is_empty() && is_aligned(nest);
    // A short last axis leaves invocations for the axes before it.
    let x = last.most.map_or(i64::MAX, |most| power_above(groups(most, lanes))).min(if windowed { WINDOW_X } else { PLAIN_X });
    let x = x.min(machine.invocations());
    let (mut threads, mut left) =
        (vec![draft.number((machine, nest), "THREADS_X", x, machine.sizes(x))], machine.invocations() / x);
    // Neighbours of a window share reads, so an invocation computes several of them, and whole tiles run without guards.
    let each = if windowed { EACH } else { 1 };
    for (n, side) in outer.iter().rev().take(if windowed { 2 } else { 1 }).enumerate() {
        let most = power_above(side.most.unwrap_or(i64::MAX)).min(i64::from(machine.profile.local[n + 1]));
        let y = left.min(most).min(if windowed { EACH } else { i64::MAX });
        threads.push(draft.number((machine, nest), ["THREADS_Y", "THREADS_Z"][n], y, near(y, 1..=16)));
        left /= y;
    }
    threads.reverse();
    let each = draft.number((machine, nest), "EACH", each, if windowed { near(each, 2..=8) } else { vec![each] });
    let ones = nest.parallel.len() - threads.len();
    let size = |n: usize| match n.checked_sub(ones) {
        None => 1.into(),
        Some(at) if at + 1 == threads.len() => threads[at].times(lanes),
        Some(at) if at + 2 == threads.len() => threads[at].times(&each),
        Some(at) => threads[at].clone(),
    };
    let peeled = |n: usize| if windowed && n + 2 >= nest.parallel.len() { " peel" } else { "" };
    let tile = |(n, side): (usize, &Side)| {
        let size: Number = size(n);
        format!("{}: {size}{}", side.name, tail(side.exact, size.value, peeled(n)))
    };
    let tiles: Vec<String> = nest.parallel.iter().enumerate().map(tile).collect();
    let slots: Vec<&str> = (0..nest.parallel.len()).rev().map(|n| ["x", "y", "z"][n.min(2)]).collect();
    let count: Vec<String> = threads.iter().map(Number::to_string).collect();
    draft.line(
        format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")),
        format!("{} invocations", count.join(" x ")),
    );
    let inner = &nest.parallel[ones..];
    let places = &slots[ones..];
    if each.value == 1 && lanes == 1 {
        draft.line(format!("distribute({} => thread({}))", Nest::names(inner), places.join(", ")), "contiguous elements in x");
    } else {
        let size = |n: usize| {
            if n + 1 == inner.len() {
                lanes.into()
            } else if n + 2 == inner.len() {
                each.clone()
            } else {
                Number::from(1)
            }
        };
        let tiles: Vec<String> = inner.iter().enumerate().map(|(n, side)| format!("{}: {}", side.name, size(n))).collect();
        draft.line(format!("tile({}) => thread({})", tiles.join(", "), places.join(", ")), "contiguous elements in x");
    }
    let shared: Vec<&str> = outer.last().filter(|_| each.value > 1).map(|side| side.name.as_str()).into_iter().collect();
    unroll(nest, &mut draft, &shared);
    if lanes > 1 {
        draft.line(format!("vectorize({}, {lanes}, unaligned: scalar)", last.name), "16 bytes an access");
    }
    draft
}

/// The invocations along the last axis: enough for whole lines of a cache.
const PLAIN_X: i64 = 32;

/// The same for windows whose elements are vectors of channels.
const WINDOW_X: i64 = 8;

/// The neighbours of a window that an invocation computes.
const EACH: i64 = 4;

/// Gives all elements along the last axis to one invocation, because they share the computation of a position.
fn positions(nest: &Nest, machine: &Machine<'_>) -> Option<Draft> {
    let (last, outer) = nest.parallel.split_last()?;
    let mut draft = Draft::default();
    let axis = match outer {
        [one] => one.name.clone(),
        several => {
            draft.line(format!("fuse({} => positions)", Nest::names(several)), "");
            "positions".to_owned()
        }
    };
    let threads = machine.invocations();
    let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
    let word = tail(points(outer), threads.value, "");
    draft.line(format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} invocations"));
    draft.line(format!("distribute({axis} => thread(x))"), "a position is computed once");
    let lanes = machine.vector(nest);
    if is_aligned(nest) && last.divisor >= lanes {
        draft.line(format!("vectorize({}, {lanes}, unaligned: scalar)", last.name), "16 bytes an access");
    }
    if last.exact != Some(lanes) {
        draft.line(format!("serial({})", last.name), "");
    }
    Some(draft)
}

/// True if reads are at computed positions that are the same for all elements along the last axis.
fn has_positions(nest: &Nest) -> bool {
    let Some(last) = nest.parallel.len().checked_sub(1) else { return false };
    let gathers = |read: &Touch| read.steps[..last].contains(&Step::Unknown) && read.steps[last] == Step::Next;
    nest.monoid.is_none() && nest.parallel.len() > 1 && nest.reads.iter().any(gathers)
}

/// Unrolls the items of a window, around the points `within` that share reads.
fn unroll(nest: &Nest, draft: &mut Draft, within: &[&str]) {
    let small = |n: &i64| *n <= UNROLLED;
    let count = points(&nest.reduced);
    let reduced: Vec<&str> = nest.reduced.iter().map(|side| side.name.as_str()).collect();
    let all: Vec<&str> = reduced.iter().chain(within).copied().collect();
    if !reduced.is_empty() && !within.is_empty() {
        draft.line(format!("reorder({})", all.join(", ")), "one step of the window for all points");
    }
    if count.filter(small).is_some() && !all.is_empty() {
        draft.line(format!("unroll({})", all.join(", ")), "a window of literal size");
    } else if !within.is_empty() {
        draft.line(format!("unroll({})", within.join(", ")), "");
    }
}

/// True if no access reads a stencil along the last axis, so that wide accesses can be aligned.
fn is_aligned(nest: &Nest) -> bool {
    let last = nest.parallel.len() - 1;
    let aligned = |touch: &Touch| match touch.steps[last] {
        Step::Next => (nest.parallel.len()..touch.steps.len()).all(|n| touch.steps[n] != Step::Next),
        Step::Stays => true,
        Step::Far | Step::Unknown => false,
    };
    nest.all_reads().all(aligned) && nest.write.steps[last] == Step::Next
}

/// Returns the read that is contiguous along another axis than the result.
fn transposed(nest: &Nest) -> Option<&Touch> {
    let last = nest.parallel.len().checked_sub(1)?;
    let across = |read: &&Touch| read.steps[last] == Step::Far && read.steps[..last].contains(&Step::Next);
    let found: Vec<&Touch> = nest.reads.iter().filter(across).collect();
    match (found.as_slice(), nest.monoid.is_none()) {
        ([one], true) => Some(one),
        _ => None,
    }
}

/// Copies a square tile through shared memory, so that both sides are accessed along their rows.
fn transpose(nest: &Nest, read: &Touch, machine: &Machine<'_>) -> Option<Draft> {
    let last = nest.parallel.len() - 1;
    let from = read.steps.iter().position(|s| *s == Step::Next)?;
    let mut draft = Draft::default();
    let (row, column) = (&nest.parallel[from], &nest.parallel[last]);
    let y = (machine.invocations() / SQUARE).min(SQUARE);
    let y = draft.number((machine, nest), "THREADS_Y", y, near(y, 1..=SQUARE));
    let tiles: Vec<String> = nest
        .parallel
        .iter()
        .enumerate()
        .map(|(n, side)| {
            let size = if n == from || n == last { SQUARE } else { 1 };
            format!("{}: {size}{}", side.name, tail(side.exact, size, ""))
        })
        .collect();
    let slots: Vec<&str> = (0..=last)
        .map(|n| {
            if n == last {
                "x"
            } else if n == from {
                "y"
            } else {
                "z"
            }
        })
        .collect();
    draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")), "a square, read and written along rows");
    let source = &read.name;
    let copy = machine.copy(nest, source);
    draft.line(
        format!("promote({source} => {copy}_s, at: workgroup, to: shared, row_pad: 1)"),
        "the pad spreads columns over banks",
    );
    draft.line(format!("tile({}: {y} => {}_o)", row.name, row.name), "");
    draft.line(format!("distribute({}, {} => thread(y, x))", row.name, column.name), format!("{y} x {SQUARE} invocations"));
    draft.line(format!("serial({}_o)", row.name), "");
    Some(draft)
}

/// Returns the facts under which accesses are wide and rows are long.
pub(super) fn aligned(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    let Some(last) = nest.parallel.last() else { return Vec::new() };
    if nest.parallel.len() == 1 || last.ragged || last.exact.is_some() {
        return Vec::new();
    }
    let multiple = last.multiple(machine.vector(nest)).filter(|_| is_aligned(nest));
    let long = (nest.monoid.is_none() && last.least < LONG && !is_flat(nest)).then(|| format!("{} >= {LONG}", last.text));
    multiple.into_iter().chain(long).collect()
}

/// Returns the fact that makes accesses wide, if elements along the last axis share a position and are few.
pub(super) fn whole(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    let last = nest.parallel.last().filter(|side| has_positions(nest) && !side.ragged && is_aligned(nest));
    last.and_then(|side| side.multiple(machine.vector(nest))).into_iter().collect()
}
