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
use super::windows::{self, Member};

/// The largest reduction that each invocation unrolls, in items: a window of 5 x 5, or a 3 x 3 window of few channels.
pub(super) const UNROLLED: i64 = 32;

/// The length from which on an axis has enough elements for the invocations of a row.
const LONG: i64 = 32;

/// The side of a square tile that is transposed through shared memory.
const SQUARE: i64 = 32;

/// Plans a stage, with the windows that it computes itself, the best plan first.
pub(super) fn plans(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Vec<Draft> {
    let Some(last) = nest.parallel.last() else { return Vec::new() };
    if nest.parallel.iter().any(|side| side.ragged) {
        return Vec::new();
    }
    let may_be_short = nest.monoid.is_none() && last.least < LONG && last.exact.is_none();
    if !members.is_empty() {
        return if may_be_short { vec![flattened(nest, members, machine)] } else { tiles::plans(nest, members, machine) };
    }
    if let Some(read) = transposed(nest).filter(|_| machine.shares()) {
        return transpose(nest, read, machine).into_iter().collect();
    }
    let whole = nest.monoid.is_none() && nest.parallel.len() > 1 && last.exact.is_some_and(|n| n <= machine.vector(nest));
    if whole && nest.reads.is_empty() {
        return positions(nest, machine).into_iter().collect();
    }
    if is_flat(nest) || nest.parallel.len() == 1 {
        return vec![flattened(nest, &[], machine)];
    }
    if whole || (has_positions(nest) && last.least < LONG) {
        return positions(nest, machine).into_iter().collect();
    }
    if may_be_short { vec![flattened(nest, &[], machine)] } else { tiles::plans(nest, &[], machine) }
}

/// True if all tensors have the layout of the result, or are one element.
fn is_flat(nest: &Nest) -> bool {
    nest.monoid.is_none() && nest.all_reads().all(|read| read.same || read.steps.iter().all(|s| *s == Step::Stays))
}

/// Fuses all axes: if all tensors have one layout, or if rows may be short.
fn flattened(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let axis = fused(nest, &mut draft);
    let is_wide = is_flat(nest) || (nest.parallel.len() == 1 && nest.reduced.is_empty() && is_aligned(nest));
    let wide = is_wide && members.is_empty();
    let lanes = if wide { machine.vector(nest) } else { 1 };
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
fn fused(nest: &Nest, draft: &mut Draft) -> String {
    match nest.parallel.as_slice() {
        [one] => one.name.clone(),
        all => {
            let why = if is_flat(nest) { "all tensors have one layout" } else { "rows may be short" };
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
    let is_wide = nest.parallel.len() > 1 && is_aligned(nest) && members.iter().all(|member| is_aligned(member.nest));
    let last = nest.parallel.last().filter(|side| is_wide && !side.ragged);
    last.and_then(|side| side.multiple(machine.vector(nest))).into_iter().chain(long(nest, members)).collect()
}

/// Returns the fact under which rows are long, if short ones have another plan.
pub(super) fn long(nest: &Nest, members: &[Member<'_>]) -> Vec<String> {
    let is_fused = is_flat(nest) && members.is_empty();
    let last = nest.parallel.last().filter(|_| nest.parallel.len() > 1 && nest.monoid.is_none() && !is_fused);
    let short = last.filter(|side| side.least < LONG && side.exact.is_none() && !side.ragged);
    short.map(|side| format!("{} >= {LONG}", side.text)).into_iter().collect()
}

/// Returns the fact that makes accesses wide, if elements along the last axis share a position and are few.
pub(super) fn whole(nest: &Nest, machine: &Machine<'_>) -> Vec<String> {
    let last = nest.parallel.last().filter(|side| has_positions(nest) && !side.ragged && is_aligned(nest));
    last.and_then(|side| side.multiple(machine.vector(nest))).into_iter().collect()
}
