//! `reorder(k, i, j)`.

use super::some;
use crate::schedule::nest::{Exec, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let free = nest.path.iter().copied().filter(|a| matches!(nest.axes[*a].exec, Exec::Plain | Exec::Unrolled));
    let axes = some(free.collect(), 5, random);
    if axes.len() < 2 {
        return None;
    }
    Some(permute(nest, &axes))
}

/// Moves some loops of the reduction outside of all others that are not distributed.
pub(in crate::schedule) fn outward(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let plain = |a: &usize| nest.axes[*a].exec == Exec::Plain;
    let mut axes: Vec<usize> = nest.path.iter().copied().filter(plain).collect();
    let most = axes.iter().filter(|a| nest.axes[**a].reduction).count();
    let mut left = random.usize(1..=most.max(1));
    if most == 0 || axes.len() < 2 {
        return None;
    }
    axes.sort_by_key(|a| {
        let first = nest.axes[*a].reduction && left > 0;
        left -= usize::from(first);
        !first
    });
    Some(permute(nest, &axes))
}

/// Returns the directive that puts axes in this order, at the places that they occupy.
pub(in crate::schedule) fn permute(nest: &mut Nest<'_>, axes: &[usize]) -> Directive {
    let mut places: Vec<usize> = axes.iter().filter_map(|a| nest.place(*a)).collect();
    places.sort_unstable();
    for (place, axis) in places.into_iter().zip(axes) {
        nest.path[place] = *axis;
    }
    Directive::new("reorder", axes.iter().map(|a| nest.axes[*a].name.clone()))
}
