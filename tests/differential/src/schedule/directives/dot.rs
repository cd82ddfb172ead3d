//! `dot(k, 4)`.

use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::{Argument, Directive};
use fastrand::Rng;
use tilewright_launch::DType;

/// The bytes of a word.
const BYTES: i64 = 4;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let factors: Vec<_> = nest.reads.iter().filter(|read| read.in_reduction).collect();
    let bytes = factors.len() == 2 && factors.iter().all(|read| read.bytes == 1 && !read.floats);
    let is_sum = nest.reduces == Some("sum") && matches!(nest.dtype, DType::I32 | DType::U32);
    if !is_sum || !bytes || nest.scattered || nest.axes.iter().any(|a| a.exec == Exec::Lanes) {
        return None;
    }
    let last = |roots: u32| factors.iter().all(|read| read.dims.last().is_some_and(|dim| dim & roots != 0));
    let fits = |a: &usize| nest.axes[*a].reduction && nest.axes[*a].extent.divisible(BYTES) && last(nest.axes[*a].roots);
    let axis = random.choice(nest.plain().into_iter().filter(fits).collect::<Vec<_>>())?;
    let (name, place) = (nest.axes[axis].name.clone(), nest.place(axis));
    let outer = nest.derive(axis, name.clone(), nest.axes[axis].extent.parts(BYTES));
    let inner = nest.derive(axis, format!("{name}_dot"), Extent::Literal(BYTES));
    if let Some(at) = place {
        nest.path.remove(at);
        nest.appear(outer, at);
    }
    // Its factors are lanes, so that the stage is not vectorized.
    nest.axes[inner].exec = Exec::Lanes;
    nest.appear(inner, nest.path.len());
    let arguments = vec![Argument::Name(name), Argument::Number(BYTES)];
    Some(Directive { arguments, ..Directive::new("dot", []) })
}
