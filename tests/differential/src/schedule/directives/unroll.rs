//! `unroll(i, k)`.

use super::some;
use crate::schedule::nest::{Exec, Extent, Nest};
use crate::schedule::tree::Directive;
use fastrand::Rng;

/// The most copies of the innermost body, because more copies take long to compile.
const MOST: i64 = 128;

pub(super) fn propose(nest: &mut Nest<'_>, random: &mut Rng) -> Option<Directive> {
    let bounded = |a: &usize| matches!(nest.axes[*a].extent, Extent::Literal(_) | Extent::Symbolic { most: Some(_), .. });
    let candidates: Vec<usize> = nest.plain().into_iter().filter(bounded).collect();
    let mut names = Vec::new();
    for axis in some(candidates, 2, random) {
        let extent = match nest.axes[axis].extent {
            Extent::Literal(n) => n,
            Extent::Symbolic { most, .. } => most.unwrap_or(0),
        };
        if nest.copies(extent) > MOST {
            continue;
        }
        names.push(nest.axes[axis].name.clone());
        nest.axes[axis].extent = Extent::Literal(extent);
        if nest.place(axis).is_some() {
            nest.axes[axis].exec = Exec::Unrolled;
        }
    }
    (!names.is_empty()).then(|| Directive::new("unroll", names))
}
