//! `rfactor(k_o => part)`: the nest of partial results, and the nest that reduces them.

use super::factor;
use super::tile::cut;
use crate::kernel::tree::Role;
use crate::schedule::flow::Seen;
use crate::schedule::nest::{Exec, Nest};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let touched = |a: usize| !nest.axes[a].reduction && (!nest.axes[a].live || nest.axes[a].exec != Exec::Plain);
    let bound = |a: usize| nest.axes[a].reduction && nest.axes[a].live && nest.axes[a].exec != Exec::Plain;
    let lives = !nest.copies.is_empty() || !nest.hosted.is_empty() || !nest.parts.is_empty();
    let all = 0..nest.axes.len();
    if nest.within.is_some() || lives || all.clone().any(|a| touched(a) || bound(a)) {
        return None;
    }
    let axes: Vec<usize> = nest.plain().into_iter().filter(|a| nest.axes[*a].reduction && nest.place(*a).is_some()).collect();
    let axis = random.choice(axes)?;
    let into = format!("{}_part", nest.stage);
    if random.u8(..100) < 25 {
        let directive = rfactor(&nest.axes[axis].name, &into);
        apart(nest, axis, into);
        return Some(directive);
    }
    let by = factor(nest.axes[axis].extent, random);
    let (name, outer) = (nest.axes[axis].name.clone(), nest.fresh());
    let tile = Argument::Tile { axis: name.clone(), factor: by.into(), tail: None, outer: Some(outer.clone()) };
    let (out, inner) = cut(nest, axis, by, (name.clone(), outer.clone()));
    let (chosen, which) = if random.u8(..4) == 0 { (inner, &name) } else { (out, &outer) };
    nest.next.push(rfactor(which, &into));
    apart(nest, chosen, into);
    // Blocked sums.
    if random.u8(..100) < 35 {
        let at = nest.next.len();
        if let Some(placed) = super::compute_at::propose(nest, random) {
            nest.next.insert(at, placed);
        }
    }
    Some(Directive { arguments: vec![tile], ..Directive::new("tile", []) })
}

fn rfactor(axis: &str, into: &str) -> Directive {
    Directive { produced: vec![into.to_owned()], ..Directive::new("rfactor", [axis.to_owned()]) }
}

/// Splits the nest into partial results for each value of an axis, and their reduction.
fn apart<'a>(nest: &mut Nest<'a>, axis: usize, into: String) {
    let mut part: Nest<'a> = nest.clone();
    part.next.clear();
    part.stage.clone_from(&into);
    part.role = Role::Intermediate;
    part.axes[axis].reduction = false;
    part.path.retain(|a| *a != axis);
    part.path.insert(0, axis);
    part.reads.retain(|s| s.in_reduction);
    let extent = nest.axes[axis].extent;
    let name = nest.axes[axis].name.clone();
    for own in &mut nest.axes {
        own.live &= !own.reduction;
    }
    nest.path.retain(|a| !nest.axes[*a].reduction);
    let parallel: Vec<u32> = nest.axes.iter().filter(|a| !a.reduction && a.live).map(|a| a.roots).collect();
    nest.root(&name, extent, true, Vec::new());
    let k = nest.axes.last().map_or(0, |a| a.roots);
    nest.reads.retain(|s| !s.in_reduction);
    nest.chosen.clear();
    let dims: Vec<u32> = [k].into_iter().chain(parallel).collect();
    nest.reads.push(Seen {
        tensor: into,
        text: String::new(),
        plain: vec![true; dims.len()],
        dims,
        in_reduction: true,
        by_data: false,
        open: false,
        bytes: nest.bytes,
        floats: nest.dtype.is_float(),
        input: false,
        depth: 0,
        registers: false,
    });
    nest.parts.push(part);
}
