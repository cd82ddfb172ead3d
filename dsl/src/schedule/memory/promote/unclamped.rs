//! Indices without clamps to the tensor's own range. A copy clamps the elements that it holds, so `x.clamp()[i]` is the same element as
//! `x[i.clamp(0, N - 1)]`. Indices that stages clamp differently can have one box only without their clamps.

use super::footprint::Seen;
use crate::expr::{Binary, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::schedule::StageNest;

/// Returns the reads with the clamps of their indices left to the copy. `None` if no index is clamped.
pub(super) fn of(nest: &StageNest<'_>, seen: &[Seen]) -> Option<Vec<Seen>> {
    let new: Vec<Seen> = seen.iter().map(|s| unclamped(nest, s)).collect();
    new.iter().zip(seen).any(|(new, old)| new.index != old.index).then_some(new)
}

fn unclamped(nest: &StageNest<'_>, seen: &Seen) -> Seen {
    let (exprs, shape) = (&nest.program.exprs, &nest.program.buffers[seen.read.buffer].shape);
    let mut read = seen.read.clone();
    let mut sides: Sides = match &read.outside {
        Outside::Never => shape.iter().map(|_| (false, false)).collect(),
        Outside::Clamp(sides) => sides.clone(),
        // Out of bounds, a padded tensor is not its nearest element.
        Outside::Fill(..) => return Seen { id: seen.id, read, index: seen.index.clone() },
    };
    let mut index = seen.index.clone();
    for ((e, extent), sides) in index.iter_mut().zip(shape).zip(&mut sides) {
        while let Some((inner, is_low)) = clamped(exprs, *e, *extent) {
            *e = inner;
            if is_low { sides.0 = true } else { sides.1 = true }
        }
    }
    read = Read { index: index.iter().copied().collect(), outside: Outside::Clamp(sides), ..read };
    Seen { id: seen.id, read, index }
}

/// Returns the operand of a clamp at an end of `0..extent`, and true if it is the low end.
fn clamped(exprs: &Exprs, e: ExprId, extent: ExprId) -> Option<(ExprId, bool)> {
    let Expr::Binary(op @ (Binary::Min | Binary::Max), a, b) = *exprs.get(e) else { return None };
    let end = if op == Binary::Max { exprs.int(0) } else { exprs.difference(extent, exprs.int(1)) };
    let inner = if b == end { a } else { Some(b).filter(|_| a == end)? };
    Some((inner, op == Binary::Max))
}
