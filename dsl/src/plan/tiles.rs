//! Tiles of independent elements: values whose tensors differ in layout, stencils and windows.
//!
//! The last axis goes to adjacent invocations, and the axes before it to the remaining ones. Neighbours that share reads are computed by one
//! invocation. On a CPU, [`super::vectors`] plans windows that are not computed for another stage.

use super::draft::Draft;
use super::form::{Nest, Side, Step, Touch, points, tail};
use super::machine::{Machine, groups, power_above};
use super::number::{Number, near};
use super::pointwise::is_aligned;
use super::rows::{is_sliding, is_window, slides};
use super::vectors;
use super::windows::{self, Member};

/// The invocations along the last axis: enough for whole lines of a cache.
const PLAIN_X: i64 = 32;

/// The invocations along the last axis for windows whose elements are vectors of channels, and on a CPU.
const WINDOW_X: i64 = 8;

/// The neighbours of a window that an invocation computes.
const EACH: i64 = 4;

/// The most items of a sliding window whose reads of neighbours are left to the cache.
const SHARED: i64 = 16;

/// The tile of a workgroup, as invocations and as elements of each invocation.
struct Tile {
    /// The invocations along the last axes, the innermost last.
    threads: Vec<Number>,
    /// The elements of an invocation along the axis before the last.
    each: Number,
    /// The elements of an access along the last axis.
    lanes: i64,
    /// True if whole tiles run without guards.
    peels: bool,
}

/// Plans a stage, with the windows that it computes itself. If the best plan copies elements to shared memory, the next one does not, because
/// the copy can be too large.
pub(super) fn plans(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>) -> Vec<Draft> {
    if machine.profile.cpu && members.is_empty() && is_window(nest) && nest.parallel.len() > 1 {
        return vec![vectors::window(nest, slides_along(nest), machine)];
    }
    let is_large = points(&nest.reduced).is_some_and(|items| items > SHARED);
    let copies = is_window(nest) && is_sliding(nest) && is_large && machine.shares();
    let orders = if copies { &[true, false][..] } else { &[false] };
    orders.iter().map(|copies| plan(nest, members, *copies, machine)).collect()
}

fn plan(nest: &Nest, members: &[Member<'_>], copies: bool, machine: &Machine<'_>) -> Draft {
    let mut draft = Draft::default();
    let Some((last, outer)) = nest.parallel.split_last() else { return draft };
    let tile = Tile::of(nest, members, machine, &mut draft);
    tile.distribute(nest, &mut draft);
    let row = outer.last().filter(|_| tile.each.value > 1).map(|side| side.name.as_str());
    windows::place(members, row, tile.lanes, &mut draft);
    // The copy comes after the windows, so that they read it, too.
    if copies {
        share(nest, machine, &mut draft);
    }
    unroll(nest, members, &mut draft, row.as_slice());
    if tile.lanes > 1 {
        draft.line(format!("vectorize({}, {}, unaligned: scalar)", last.name, tile.lanes), "16 bytes an access");
    }
    draft
}

impl Tile {
    fn of(nest: &Nest, members: &[Member<'_>], machine: &Machine<'_>, draft: &mut Draft) -> Tile {
        let all = || members.iter().map(|member| member.nest).chain([nest]);
        let is_wide = all().all(is_aligned);
        let vector = all().map(|nest| machine.vector(nest)).min().unwrap_or(1);
        let divides = nest.parallel.last().is_some_and(|last| last.divisor >= vector);
        let lanes = if is_wide && divides { vector } else { 1 };
        let peels = is_wide && all().any(|nest| !nest.reduced.is_empty());
        let threads = threads(nest, (lanes, peels), machine, draft);
        let each = if peels || (slides_across(nest) && members.is_empty()) { EACH } else { 1 };
        let each = draft.number((machine, nest), "EACH", each, if each > 1 { near(each, 2..=8) } else { vec![each] });
        Tile { threads, each, lanes, peels }
    }

    /// Returns the elements of an invocation along the axis `n` steps before the last.
    fn elements(&self, n: usize) -> Number {
        match n {
            0 => self.lanes.into(),
            1 => self.each.clone(),
            _ => 1.into(),
        }
    }

    /// Writes the directives that distribute the parallel axes.
    fn distribute(&self, nest: &Nest, draft: &mut Draft) {
        let last = nest.parallel.len() - 1;
        let ones = nest.parallel.len() - self.threads.len();
        let tile = |(n, side): (usize, &Side)| {
            let threads = n.checked_sub(ones).map(|at| self.threads[at].times(self.elements(last - n)));
            let size = threads.unwrap_or(1.into());
            let word = if self.peels && last - n < 2 { " peel" } else { "" };
            format!("{}: {size}{}", side.name, tail(side.exact, size.value, word))
        };
        let tiles: Vec<String> = nest.parallel.iter().enumerate().map(tile).collect();
        let slots = slots(last + 1);
        let count: Vec<String> = self.threads.iter().map(Number::to_string).collect();
        let invocations = format!("{} invocations", count.join(" x "));
        draft.line(format!("tile({}) => workgroup({})", tiles.join(", "), slots.join(", ")), invocations);
        let (inner, places) = (&nest.parallel[ones..], slots[ones..].join(", "));
        if self.each.value * self.lanes == 1 {
            draft.line(format!("distribute({} => thread({places}))", Nest::names(inner)), "contiguous elements in x");
            return;
        }
        let tile = |(n, side): (usize, &Side)| format!("{}: {}", side.name, self.elements(inner.len() - 1 - n));
        let tiles: Vec<String> = inner.iter().enumerate().map(tile).collect();
        draft.line(format!("tile({}) => thread({places})", tiles.join(", ")), "contiguous elements in x");
    }
}

/// Returns the dimension of the grid for each axis. The last axis is in `x`.
pub(super) fn slots(axes: usize) -> Vec<&'static str> {
    (0..axes).rev().map(|n| ["x", "y", "z"][n.min(2)]).collect()
}

/// Returns the invocations along the last axes, the innermost last. A short last axis leaves invocations for the axes before it.
fn threads(nest: &Nest, (lanes, peels): (i64, bool), machine: &Machine<'_>, draft: &mut Draft) -> Vec<Number> {
    let Some((last, outer)) = nest.parallel.split_last() else { return Vec::new() };
    let most = if peels || machine.profile.cpu { WINDOW_X } else { PLAIN_X };
    let x = last.most.map_or(i64::MAX, |length| power_above(groups(length, lanes)));
    let x = x.min(most).min(machine.invocations());
    let (mut threads, mut left) =
        (vec![draft.number((machine, nest), "THREADS_X", x, machine.sizes(x))], machine.invocations() / x);
    for (n, side) in outer.iter().rev().take(if peels { 2 } else { 1 }).enumerate() {
        let most = power_above(side.most.unwrap_or(i64::MAX)).min(i64::from(machine.profile.local[n + 1]));
        let y = left.min(most).min(if peels { EACH } else { i64::MAX });
        threads.push(draft.number((machine, nest), ["THREADS_Y", "THREADS_Z"][n], y, near(y, 1..=16)));
        left /= y;
    }
    threads.reverse();
    threads
}

/// True if only the last axis moves a window.
pub(super) fn slides_along(nest: &Nest) -> bool {
    is_window(nest) && is_sliding(nest) && !slides_across(nest)
}

/// True if the axis before the last moves a window, so that neighbours along it share reads.
fn slides_across(nest: &Nest) -> bool {
    let Some(across) = nest.parallel.len().checked_sub(2) else { return false };
    let slides = |read: &Touch| read.steps[across] == Step::Far && read.steps[nest.parallel.len()..].contains(&Step::Far);
    is_window(nest) && nest.reads.iter().any(slides)
}

/// Copies the elements that the windows of a workgroup share.
fn share(nest: &Nest, machine: &Machine<'_>, draft: &mut Draft) {
    let mut done = Vec::new();
    for read in nest.reads.iter().filter(|read| slides(nest, read)) {
        if !done.contains(&read.buffer) {
            let (source, copy) = (&read.name, machine.copy(nest, &read.name));
            draft.line(format!("promote({source} => {copy}_s, at: workgroup, to: shared)"), "neighbours read the same elements");
            done.push(read.buffer);
        }
    }
}

/// Unrolls the items of a window, around the points `within` that share reads.
pub(super) fn unroll(nest: &Nest, members: &[Member<'_>], draft: &mut Draft, within: &[&str]) {
    let reduced: Vec<&str> = nest.reduced.iter().map(|side| side.name.as_str()).collect();
    let all: Vec<&str> = reduced.iter().chain(within).copied().collect();
    if !reduced.is_empty() && !within.is_empty() {
        draft.line(format!("reorder({})", all.join(", ")), "one step of the window for all points");
    }
    if reduced.is_empty() && !within.is_empty() {
        draft.line(format!("unroll({})", within.join(", ")), "neighbours share reads");
    } else if windows::unrolls(nest, members) && !all.is_empty() {
        draft.line(format!("unroll({})", all.join(", ")), "a window of literal size");
    } else if !within.is_empty() {
        draft.line(format!("unroll({})", within.join(", ")), "");
    }
}
