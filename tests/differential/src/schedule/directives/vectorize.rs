//! `vectorize(j, 4, unaligned: scalar)`.

use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;

/// The most bytes of a vector.
const BYTES: i64 = 16;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    if nest.scattered || nest.axes.iter().any(|a| a.exec == Exec::Lanes) {
        return None;
    }
    let lanes = random.choice([2, 2, 4, 4, 8, 1])?;
    let fits = |a: &usize| nest.axes[*a].extent.divisible(lanes) && lanes * nest.bytes <= BYTES;
    let candidates: Vec<usize> = nest.plain_parallel().into_iter().filter(fits).collect();
    let contiguous: Vec<usize> = candidates.iter().copied().filter(|a| nest.axes[*a].contiguous).collect();
    let any = contiguous.is_empty() || random.u8(..6) == 0;
    let axis = random.choice(if any { candidates } else { contiguous })?;
    let name = nest.axes[axis].name.clone();
    let careless = nest.axes[axis].contiguous && !nest.axes[axis].ragged && random.u8(..3) == 0;
    if !nest.is_free(&format!("{name}_lanes")) {
        return None;
    }
    let place = nest.place(axis);
    let outer = nest.derive(axis, name.clone(), nest.axes[axis].extent.parts(lanes));
    let inner = nest.derive(axis, format!("{name}_lanes"), Extent::Literal(lanes));
    if let Some(at) = place {
        nest.path.remove(at);
        nest.appear(outer, at);
    }
    nest.axes[inner].exec = Exec::Lanes;
    nest.appear(inner, nest.path.len());
    let arguments = vec![Argument::Name(name), Argument::Number(lanes)];
    let keys = if careless { Vec::new() } else { vec![("unaligned", "scalar".to_owned())] };
    Some(Directive { name: "vectorize", arguments, produced: Vec::new(), keys, target: None })
}
