//! Clamps to the tensor's own range. `x.clamp()[i]` is the same element as `x[i.clamp(0, N - 1)]`. Reads that stages clamp differently can have
//! one box only without their clamps, because a copy clamps the elements that it holds. Other reads, such as `x.clamp()[2 * i]` and `x[i]`, have
//! one box only with the clamps in their indices, because these bound the distance.

use super::footprint::Seen;
use crate::expr::{Outside, Read};
use crate::nest::points::bring_inside;
use crate::schedule::StageNest;

/// Returns the reads in other forms that may have one box: with the clamps of indices left to the copy, and with all clamps in the indices. A form
/// that equals the reads is left out.
pub(super) fn forms(nest: &StageNest<'_>, seen: &[Seen]) -> Vec<Vec<Seen>> {
    let of = |form: fn(&StageNest<'_>, &Seen) -> Seen| seen.iter().map(|s| form(nest, s)).collect::<Vec<_>>();
    let differs = |new: &Vec<Seen>| new.iter().zip(seen).any(|(new, old)| new.index != old.index);
    [of(without), of(within)].into_iter().filter(differs).collect()
}

fn without(nest: &StageNest<'_>, seen: &Seen) -> Seen {
    let read = nest.program.with_clamps(Read { index: seen.index.iter().copied().collect(), ..seen.read.clone() });
    Seen { id: seen.id, index: read.index.to_vec(), read }
}

fn within(nest: &StageNest<'_>, seen: &Seen) -> Seen {
    let mut seen = Seen { id: seen.id, read: seen.read.clone(), index: seen.index.clone() };
    let Outside::Clamp(sides) = &seen.read.outside else { return seen };
    let shape = &nest.program.buffers[seen.read.buffer].shape;
    for ((e, extent), sides) in seen.index.iter_mut().zip(shape).zip(sides) {
        *e = bring_inside(&nest.program.exprs, *e, *extent, *sides, &mut None);
    }
    seen.read.outside = Outside::Never;
    seen
}
