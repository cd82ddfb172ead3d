//! Distributes, unrolls, or names as serial the axes that are left over, so that most schedules are complete.

use super::directives::{permute, place};
use super::nest::{Exec, Nest};
use super::tree::Directive;
use fastrand::Rng;

/// The most copies of the innermost body that completing a schedule makes.
const COPIES: i64 = 64;

/// Generates directives for axes that no directive has placed.
pub(super) fn complete(nest: &mut Nest<'_>, random: &mut Rng) -> Vec<Directive> {
    let mut made = Vec::new();
    outside(nest, random, &mut made);
    let left = |nest: &Nest<'_>| -> Vec<usize> {
        nest.path.iter().copied().filter(|a| nest.axes[*a].exec == Exec::Plain && !nest.axes[*a].reduction).collect()
    };
    for axis in left(nest) {
        let inside = within_reduction(nest, axis);
        if nest.axes[axis].serial && !inside {
            continue;
        }
        let levels = match random.u8(..10) {
            0..5 => ["workgroup", "thread"],
            5..8 => ["thread", "workgroup"],
            _ => ["", ""],
        };
        let level = levels.into_iter().find(|level| match *level {
            "workgroup" => nest.may_be_workgroup(axis),
            "thread" => nest.may_be_thread(axis) && nest.thread_slot(nest.axes[axis].extent, random).is_some(),
            _ => false,
        });
        match level.and_then(|level| place(nest, &[axis], level, random)) {
            Some(directive) => made.push(directive),
            None => made.push(stay(nest, axis, inside, random)),
        }
    }
    made
}

/// Keeps an axis in each invocation: unrolled if it is inside a reduction's loop, or serial.
fn stay(nest: &mut Nest<'_>, axis: usize, inside: bool, random: &mut Rng) -> Directive {
    let name = nest.axes[axis].name.clone();
    let short = nest.axes[axis].extent.literal().is_some_and(|n| nest.copies(n) <= COPIES);
    if short && (inside || random.bool()) {
        nest.axes[axis].exec = Exec::Unrolled;
        return Directive::new("unroll", [name]);
    }
    nest.axes[axis].serial = true;
    Directive::new("serial", [name])
}

/// Returns true if a loop is inside a reduction's loop: its accumulator would be indexed at run time, unless the loop is unrolled.
fn within_reduction(nest: &Nest<'_>, axis: usize) -> bool {
    let at = nest.place(axis).unwrap_or(0);
    nest.path[..at].iter().any(|a| nest.axes[*a].reduction && matches!(nest.axes[*a].exec, Exec::Plain | Exec::Unrolled))
}

/// Moves parallel loops that cannot be unrolled out of the reduction's loops.
fn outside(nest: &mut Nest<'_>, random: &mut Rng, made: &mut Vec<Directive>) {
    let long = |nest: &Nest<'_>, a: usize| {
        let axis = &nest.axes[a];
        let short = axis.extent.literal().is_some_and(|n| nest.copies(n) <= COPIES);
        axis.exec == Exec::Plain && !axis.reduction && within_reduction(nest, a) && !short
    };
    if !nest.path.iter().any(|a| long(nest, *a)) && random.u8(..100) >= 8 {
        return;
    }
    let movable = |a: &usize| matches!(nest.axes[*a].exec, Exec::Plain | Exec::Unrolled);
    let mut axes: Vec<usize> = nest.path.iter().copied().filter(movable).collect();
    if axes.len() < 2 {
        return;
    }
    // Unrolled loops may be anywhere.
    axes.sort_by_key(|a| nest.axes[*a].reduction);
    made.push(permute(nest, &axes));
}
