//! Stages whose elements are independent: values of several tensors element by element, stencils, small windows, gathers, and
//! transposes.
//!
//! The contiguous axis of the result goes to adjacent invocations, so that their accesses combine. An invocation moves 16 bytes
//! at a time if the alignment is proved.

use super::draft::Draft;
use super::form::{Nest, Step, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::near;
use super::tiles::{self, unroll};
use super::vectors;
use super::windows::{self, Member};

/// The largest reduction that each invocation unrolls, in items: a window of 5 x 5, or a 3 x 3 window of few channels.
pub(super) const UNROLLED: i64 = 32;

/// The length from which on an axis has enough elements for the invocations of a row on a GPU.
const LONG: i64 = 32;

/// The side of a square tile that is transposed through shared memory.
const SQUARE: i64 = 32;

/// Plans a stage, with the windows that it computes itself, the best plan first.
pub(super) fn plans(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Vec<Draft> {
    let Some(last) = nest.parallel.last() else { return Vec::new() };
    if nest.parallel.iter().any(|side| side.ragged) {
        return Vec::new();
    }
    if !members.is_empty() {
        return if may_be_short(nest, machine) {
            vec![flattened(nest, members, 1, machine)]
        } else {
            tiles::plans(nest, members, machine)
        };
    }
    if machine.profile.cpu && nest.monoid.is_none() {
        return vec![on_cpu(nest, machine)];
    }
    if let Some(read) = transposed(nest).filter(|_| machine.shares()) {
        return transpose(nest, read, machine).into_iter().collect();
    }
    let whole = nest.monoid.is_none() && nest.parallel.len() > 1 && last.exact.is_some_and(|n| n <= machine.vector(nest));
    if whole && nest.reads.is_empty() {
        return positions(nest, machine).into_iter().collect();
    }
    if is_flat(nest) || nest.parallel.len() == 1 {
        return vec![flattened(nest, &[], width(nest, machine), machine)];
    }
    if whole || (has_positions(nest) && last.least < LONG) {
        return positions(nest, machine).into_iter().collect();
    }
    if may_be_short(nest, machine) { vec![flattened(nest, &[], 1, machine)] } else { tiles::plans(nest, &[], machine) }
}

/// Plans a value for a CPU. If elements of a row share a position, or may be too few for a vector, an invocation loops over them.
fn on_cpu(nest: &Nest, machine: &Machine<'_>) -> Draft {
    let Some((last, outer)) = nest.parallel.split_last() else { return Draft::default() };
    if is_flat(nest) || outer.is_empty() {
        let mut draft = Draft::default();
        let axis = fused(nest, machine, &mut draft);
        vectors::line(nest, (&axis, points(&nest.parallel)), width(nest, machine), machine, &mut draft);
        return draft;
    }
    let is_short = last.exact.is_some_and(|n| n <= machine.vector(nest)) || may_be_short(nest, machine);
    vectors::rows(nest, if is_short || has_positions(nest) { outer } else { &nest.parallel }, machine)
}

/// Returns the elements of an access if all axes are fused, or if there is one axis.
fn width(nest: &Nest, machine: &Machine<'_>) -> i64 {
    let is_wide = is_flat(nest) || (nest.reduced.is_empty() && is_aligned(nest));
    if is_wide { machine.vector(nest) } else { 1 }
}

/// True if the last axis may have too few elements for the invocations of a row.
fn may_be_short(nest: &Nest, machine: &Machine<'_>) -> bool {
    let last = nest.parallel.last();
    nest.monoid.is_none() && last.is_some_and(|last| last.least < long_row(machine) && last.exact.is_none())
}

/// Returns the length from which on an axis has enough elements for the invocations of a row.
fn long_row(machine: &Machine<'_>) -> i64 {
    if machine.profile.cpu { machine.lanes() } else { LONG }
}

/// True if all tensors have the layout of the result, or are one element. Then the index of an element needs no division after a fusion.
fn is_flat(nest: &Nest) -> bool {
    nest.monoid.is_none()
        && !nest.positioned
        && nest.all_reads().all(|read| read.same || read.steps.iter().all(|s| *s == Step::Stays))
}

/// Plans a stage whose invocations compute one element each, with the windows that it computes itself.
pub(super) fn single(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Option<Draft> {
    let is_ragged = nest.parallel.iter().any(|side| side.ragged);
    (!nest.parallel.is_empty() && !is_ragged).then(|| flattened(nest, members, 1, machine))
}

/// Fuses all axes. An access has `lanes` elements.
fn flattened(nest: &Nest, members: &[Member<'_>], lanes: i64, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let axis = fused(nest, machine, &mut draft);
    let extent = points(&nest.parallel);
    let accesses = extent.map_or(i64::MAX, |extent| power_above(groups(extent, lanes)));
    let threads = machine.invocations().min(accesses);
    let threads = draft.number((machine, nest), "THREADS", threads, machine.sizes(threads));
    if lanes == 1 {
        let word = tail(extent, threads.value, "");
        draft.line(format!("tile({axis}: {threads}{word}) => workgroup(x)"), format!("{threads} invocations"));
        draft.line(format!("distribute({axis} => thread(x))"), "adjacent elements to adjacent invocations");
        windows::place(members, None, 1, &mut draft);
        unroll(nest, members, &mut draft, &[]);
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
fn fused(nest: &Nest, machine: &Machine<'_>, draft: &mut Draft) -> String {
    match nest.parallel.as_slice() {
        [one] => one.name.clone(),
        all => {
            let why = match () {
                () if is_flat(nest) => "all tensors have one layout",
                () if may_be_short(nest, machine) => "rows may be short",
                () => "an element for each invocation",
            };
            draft.line(format!("fuse({} => points)", Nest::names(all)), why);
            "points".to_owned()
        }
    }
}

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

/// True if no window slides along the last axis, and at most half of the reads have an offset there, so that most accesses can be wide.
pub(super) fn is_aligned(nest: &Nest) -> bool {
    let Some(last) = nest.parallel.len().checked_sub(1) else { return false };
    let (count, shifted) = nest.all_reads().fold((0, 0), |(n, m), read| (n + read.count, m + read.shifted));
    if 2 * shifted > count {
        return false;
    }
    let aligned = |touch: &Touch| match touch.steps[last] {
        Step::Next => (nest.parallel.len()..touch.steps.len()).all(|n| touch.steps[n] != Step::Next),
        Step::Stays => true,
        Step::Far | Step::Unknown => false,
    };
    nest.all_reads().all(aligned) && nest.write.steps[last] == Step::Next
}

/// Returns the read that is contiguous along another axis than the result.
pub(super) fn transposed(nest: &Nest) -> Option<&Touch> {
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
pub(super) fn aligned(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Vec<String> {
    let is_row = machine.profile.cpu && members.is_empty();
    let is_wide = nest.parallel.len() > 1 && !is_row && is_aligned(nest) && members.iter().all(|member| is_aligned(member.nest));
    let last = nest.parallel.last().filter(|side| is_wide && !side.ragged);
    last.and_then(|side| side.multiple(machine.vector(nest))).into_iter().chain(long(nest, members, machine)).collect()
}

/// Returns the fact under which rows are long, if short ones have another plan.
pub(super) fn long(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Vec<String> {
    let cpu = machine.profile.cpu;
    let is_fused = is_flat(nest) && members.is_empty() || cpu && has_positions(nest);
    let least = match nest.monoid {
        None if is_fused => return Vec::new(),
        None => long_row(machine),
        Some(_) if cpu && members.is_empty() && tiles::slides_along(nest) => vectors::long_window(machine),
        Some(_) => return Vec::new(),
    };
    let last = nest.parallel.last().filter(|side| nest.parallel.len() > 1 && side.exact.is_none() && !side.ragged);
    last.filter(|side| side.least < least).map(|side| side.at_least(least)).into_iter().collect()
}

/// Returns the fact that makes accesses wide, if elements along the last axis share a position and are few.
pub(super) fn whole(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    let last = nest.parallel.last().filter(|side| has_positions(nest) && !machine.profile.cpu && !side.ragged && is_aligned(nest));
    last.and_then(|side| side.multiple(machine.vector(nest))).into_iter().collect()
}
