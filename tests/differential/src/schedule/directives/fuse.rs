//! `fuse(i, j => p)`.

use super::some;
use crate::schedule::nest::{Extent, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let reduction = random.u8(..3) == 0;
    let of_kind = nest.plain().into_iter().filter(|a| nest.axes[*a].reduction == reduction);
    let mut axes = some(of_kind.collect(), 3, random);
    // Adjacent axes in order give simpler index components, but any order is legal.
    if random.u8(..3) > 0 {
        axes.sort_by_key(|a| nest.place(*a));
    }
    let inside = |a: &usize| nest.axes[*a].depends.iter().any(|d| axes.contains(d));
    if axes.len() < 2 || axes.iter().any(inside) {
        return None;
    }
    let into = nest.fresh();
    let names: Vec<String> = axes.iter().map(|a| nest.axes[*a].name.clone()).collect();
    fuse(nest, &axes, into.clone());
    Some(Directive { produced: vec![into], ..Directive::new("fuse", names) })
}

/// Fuses axes in the nest.
pub(in crate::schedule) fn fuse(nest: &mut Nest<'_>, axes: &[usize], into: String) -> usize {
    let place = axes.iter().filter_map(|a| nest.place(*a)).min();
    let extent = axes.iter().fold(Extent::Literal(1), |e, a| e.times(nest.axes[*a].extent));
    let depends = axes.iter().flat_map(|a| nest.axes[*a].depends.clone()).collect();
    let last = axes.last().copied().unwrap_or_default();
    let fused = nest.derive(last, into, extent);
    nest.axes[fused].depends = depends;
    nest.axes[fused].contiguous = nest.axes[last].contiguous;
    nest.axes[fused].serial = axes.iter().all(|a| nest.axes[*a].serial);
    nest.axes[fused].within_thread = axes.iter().any(|a| nest.axes[*a].within_thread);
    nest.axes[fused].roots = axes.iter().fold(0, |all, a| all | nest.axes[*a].roots);
    nest.axes[fused].shifted = axes.iter().any(|a| nest.axes[*a].shifted);
    nest.axes[fused].counts_tiles = axes.iter().any(|a| nest.axes[*a].counts_tiles);
    nest.axes[fused].fixed = axes.iter().any(|a| nest.axes[*a].fixed);
    nest.axes[fused].ragged = axes.iter().any(|a| nest.axes[*a].ragged);
    for axis in axes {
        nest.axes[*axis].live = false;
        nest.path.retain(|a| a != axis);
    }
    nest.appear(fused, place.unwrap_or(nest.path.len()));
    fused
}
