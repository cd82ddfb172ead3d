//! Windows that are computed where they are used: reductions of a few items, which only one stage reads, each element at its own place.
//!
//! The element stays in registers, so it is neither stored nor loaded, and a dispatch is saved. No element is computed twice.

use super::draft::Draft;
use super::form::{Nest, Step, Touch, points};
use super::pointwise::{UNROLLED, transposed};
use super::rows::is_window;

/// The most items that are unrolled if a window is computed for each item of another window.
const UNROLLED_TOGETHER: i64 = 64;

/// A window, and the loop of the stage that it is computed in.
#[derive(Clone, Copy)]
pub(super) struct Member<'n> {
    pub(super) nest: &'n Nest,
    /// The axis of the stage's reduction that it is computed at. `None` means once for each element of the stage.
    at: Option<&'n str>,
}

/// Returns the windows that a stage of independent elements computes itself, given the nests of all stages.
pub(super) fn members<'n>(host: &'n Nest, nests: &'n [Nest]) -> Vec<Member<'n>> {
    if transposed(host).is_some() {
        return Vec::new();
    }
    let is_free = |nest: &&Nest| nest.open && !nest.rooted && !nest.result && nest.stage != host.stage && is_window(nest);
    nests.iter().filter(is_free).filter_map(|nest| member(nest, host, nests)).collect()
}

fn member<'n>(nest: &'n Nest, host: &'n Nest, nests: &[Nest]) -> Option<Member<'n>> {
    let reads = |reader: &Nest| reader.all_reads().any(|read| read.buffer == nest.write.buffer);
    if nests.iter().any(|reader| reader.stage != host.stage && reads(reader)) {
        return None;
    }
    let own: Vec<&Touch> = host.all_reads().filter(|read| read.buffer == nest.write.buffer).collect();
    if own.is_empty() || !own.iter().all(|read| read.whole) {
        return None;
    }
    let reduced = host.parallel.len()..host.parallel.len() + host.reduced.len();
    let uses = |read: &Touch, axis: usize| read.steps[axis] != Step::Stays;
    if own.iter().all(|read| reduced.clone().all(|axis| !uses(read, axis))) {
        return Some(Member { nest, at: None });
    }
    // At the innermost loop, an element is computed once only if all axes of the reduction select it.
    let is_each = own.iter().all(|read| reduced.clone().all(|axis| uses(read, axis)));
    host.reduced.last().filter(|_| is_each).map(|side| Member { nest, at: Some(&side.name) })
}

/// True if the items of a stage's own window are unrolled around the windows that are computed for each of them.
pub(super) fn unrolls(host: &Nest, members: &[Member<'_>]) -> bool {
    let items = |nest: &Nest| points(&nest.reduced).unwrap_or(i64::MAX);
    let within = members.iter().filter(|member| member.at.is_some()).map(|member| items(member.nest)).max().unwrap_or(1);
    let most = if within > 1 { UNROLLED_TOGETHER } else { UNROLLED };
    items(host).saturating_mul(within) <= most
}

/// Writes the directives that place windows in the nest of a stage. An invocation computes several neighbours along the axis `row`, if there
/// is one, and accesses `lanes` elements at a time.
pub(super) fn place(members: &[Member<'_>], row: Option<&str>, lanes: i64, draft: &mut Draft) {
    for Member { nest, at } in members {
        let name = &nest.name;
        let at = at.unwrap_or("thread");
        draft.line(format!("compute_at({name}, {at}, to: register)"), "in the dispatch that uses it");
        let reduced: Vec<&str> = nest.reduced.iter().map(|side| side.name.as_str()).collect();
        let all: Vec<&str> = reduced.iter().copied().chain(row).collect();
        if row.is_some() && !reduced.is_empty() {
            draft.of(name, format!("reorder({})", all.join(", ")), "one step of the window for all points");
        }
        if !all.is_empty() {
            draft.of(name, format!("unroll({})", all.join(", ")), "a window of literal size");
        }
        if let Some(last) = nest.parallel.last().filter(|_| lanes > 1) {
            draft.of(name, format!("vectorize({}, {lanes}, unaligned: scalar)", last.name), "16 bytes an access");
        }
    }
}
