//! `distribute(i, j => thread(y, x))`.

use super::fuse::fuse;
use super::some;
use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::{Directive, Target};
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if random.u8(..100) < 45 {
        let axes: Vec<usize> = nest.plain().into_iter().filter(|a| nest.may_be_workgroup(*a)).collect();
        return place(nest, &some(axes, 3, random), "workgroup", random);
    }
    if random.u8(..100) < 8
        && let Some(folded) = folded(nest, random)
    {
        return Some(folded);
    }
    let literal = |a: &usize| nest.axes[*a].extent.literal().is_some() && nest.may_be_thread(*a);
    let axes: Vec<usize> = nest.plain_parallel().into_iter().filter(literal).collect();
    place(nest, &some(axes, 2, random), "thread", random)
}

/// Distributes the axes that can be distributed.
pub(in crate::schedule) fn place(nest: &mut Nest<'_>, axes: &[usize], level: &'static str, random: &mut Rng) -> Option<Directive> {
    let (mut names, mut slots) = (Vec::new(), Vec::new());
    for axis in axes {
        let slot = match level {
            "workgroup" => random.choice(["x", "y", "z"]),
            _ => nest.thread_slot(nest.axes[*axis].extent, random),
        };
        let Some(slot) = slot else { continue };
        names.push(nest.axes[*axis].name.clone());
        slots.push(slot);
        let exec = if level == "workgroup" { Exec::Workgroup } else { Exec::Thread(slot) };
        nest.bind(*axis, exec);
        if level == "thread" {
            within(nest, *axis);
        }
    }
    let target = Some(Target { level, slots });
    (!names.is_empty()).then(|| Directive { target, ..Directive::new("distribute", names) })
}

/// Marks the axes inside an axis that is distributed to threads: they cannot be distributed to workgroups. The parts of one split
/// were made one after another.
pub(super) fn within(nest: &mut Nest<'_>, axis: usize) {
    let outer = nest.axes[axis].reduction;
    nest.axes.iter_mut().skip(axis).filter(|a| a.reduction == outer).for_each(|a| a.within_thread = true);
    nest.axes[..axis].iter_mut().rev().take(2).for_each(|a| a.within_thread = true);
}

/// Distributes two axes to one coordinate.
fn folded(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let literal = |a: &usize| nest.axes[*a].extent.literal().is_some_and(|n| n > 1) && nest.may_be_thread(*a);
    let axes: Vec<usize> = nest.plain_parallel().into_iter().filter(literal).collect();
    let axes = some(axes, 2, random);
    let [a, b] = axes.as_slice() else { return None };
    let names = [nest.axes[*a].name.clone(), nest.axes[*b].name.clone()];
    let extent = axes.iter().fold(Extent::Literal(1), |e, a| e.times(nest.axes[*a].extent));
    let slot = nest.thread_slot(extent, random)?;
    let fused = fuse(nest, &[*a, *b], names.join("_"));
    nest.bind(fused, Exec::Thread(slot));
    within(nest, fused);
    let target = Some(Target { level: "thread", slots: vec![slot, slot] });
    Some(Directive { target, ..Directive::new("distribute", names) })
}
