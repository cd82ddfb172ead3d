//! `border(i, j)`.

use super::some;
use crate::schedule::nest::Nest;
use crate::schedule::tree::Directive;
use fastrand::Rng;

/// Most nests without reads out of bounds refuse it, so it needs such a read along an axis.
pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if nest.within.is_some() || nest.has_border {
        return None;
    }
    let open = nest.reads.iter().filter(|read| read.open && !read.by_data);
    let roots =
        open.flat_map(|read| read.dims.iter().zip(&read.plain)).filter(|(_, plain)| !**plain).fold(0, |all, (dim, _)| all | dim);
    let candidates = (0..nest.axes.len()).filter(|a| {
        let axis = &nest.axes[*a];
        axis.live && !axis.reduction && axis.roots & roots != 0
    });
    let candidates: Vec<usize> = candidates.collect();
    if candidates.is_empty() {
        return None;
    }
    nest.has_border = true;
    Some(Directive::new("border", some(candidates, 3, random).into_iter().map(|a| nest.axes[a].name.clone())))
}
