//! Which twin a twin counts as taken from. A nest of which both a reduction's axis and a parallel one are peeled has four
//! twins, and the two that have the rest of the parallel axis are parts of one reduction, as the two others are. So that
//! [`super::merge`] finds the parts of a reduction next to each other, twins always stand as if all parallel axes had been
//! peeled first: what `peel` makes of the rest of a reduction is the rest of the reduction of what it makes of the full tiles.

use super::twins::{From, Twin};
use crate::nest::{AxisId, AxisKind, Peel, Program};

/// What a directive took a twin from, and the name of the axis that it peeled there.
struct Made {
    from: From,
    axis: String,
}

/// Puts the twins that a directive has made where they belong: those from `first` on.
pub(super) fn rearrange(program: &mut Program, twins: &mut [Twin], first: usize) {
    let made: Vec<Option<Made>> = (0..twins.len()).map(|at| made(program, &twins[at]).filter(|_| at >= first)).collect();
    for at in first..twins.len() {
        let Some((from, peel)) = moved(program, twins, &made, at) else { continue };
        let source = made[at].as_ref().map(|made| twins[made.from.twin].stage);
        program.peels.retain(|other| other.rest != peel.rest);
        // As old as the peel of the reduction that it is a part of.
        let before = program.peels.iter().position(|peel| Some(peel.rest) == source);
        program.peels.insert(before.map_or(program.peels.len(), |before| before + 1), peel);
        twins[at].from = Some(from);
    }
    let reduces = |peel: &Peel| program.axes[peel.axis].kind == AxisKind::Reduction;
    let (reductions, parallel): (Vec<Peel>, Vec<Peel>) = program.peels.iter().cloned().partition(reduces);
    program.peels = [parallel, reductions].concat();
}

fn made(program: &Program, twin: &Twin) -> Option<Made> {
    let peel = program.peels.iter().find(|peel| peel.rest == twin.stage)?;
    Some(Made { from: twin.from?, axis: program.axes[peel.axis].name.clone() })
}

/// Where a twin belongs that has the rest of a parallel axis and was taken from one that has the rest of a reduction.
fn moved(program: &Program, twins: &[Twin], made: &[Option<Made>], at: usize) -> Option<(From, Peel)> {
    let from = made[at].as_ref()?.from;
    let source = twins[from.twin].from.filter(|source| [from.kind, source.kind] == [AxisKind::Parallel, AxisKind::Reduction])?;
    let fellow = fellow(made, at, source.twin)?;
    let of_source = program.peels.iter().find(|peel| peel.rest == twins[from.twin].stage)?;
    let peel = Peel {
        main: twins[fellow].stage,
        rest: twins[at].stage,
        axis: alike(&twins[source.twin], &twins[fellow], of_source.axis)?,
        twin: alike(&twins[from.twin], &twins[at], of_source.twin)?,
        span: of_source.span,
    };
    Some((From { twin: fellow, ..source }, peel))
}

/// The twin that the directive has made of `source` as it has made this one of another.
fn fellow(made: &[Option<Made>], at: usize, source: usize) -> Option<usize> {
    let own = made[at].as_ref()?;
    let of = |source: usize| {
        let is = move |made: &Made| made.from.twin == source && made.axis == own.axis;
        (0..made.len()).filter(move |n| made[*n].as_ref().is_some_and(is))
    };
    let place = of(own.from.twin).position(|n| n == at)?;
    of(source).nth(place)
}

/// The axis of a twin that is this one of the twin that it was taken from, or is made like.
fn alike(source: &Twin, twin: &Twin, axis: AxisId) -> Option<AxisId> {
    let place = source.axes.iter().position(|a| *a == axis)?;
    twin.axes.get(place).copied()
}
