//! The values of a stage's axes for a read of its result, clamped into the stage, and the condition that the read is in bounds.
//! This is part of the meaning of a nest, so both the passes and the verifier use it.

use super::{AxisId, Buffer, Program};
use crate::expr::{Binary, Compare, Expr, ExprId, Exprs, Outside, Read, Sides};
use crate::table::Map;
use std::collections::HashMap;
use tilewright_launch::DType;

/// Returns the value of each of a stage's axes for a read, clamped into the stage. Also returns the condition that the read is
/// in bounds, if it may be out of bounds.
pub(crate) fn points(exprs: &Exprs, axes: &[AxisId], buffer: &Buffer, read: &Read) -> (HashMap<AxisId, ExprId>, Option<ExprId>) {
    let (mut points, mut inside) = (HashMap::new(), None);
    for (d, ((axis, index), extent)) in axes.iter().zip(&read.index).zip(&buffer.shape).enumerate() {
        let (low, high) = match &read.outside {
            Outside::Never => (false, false),
            Outside::Clamp(sides) | Outside::Fill(_, sides) => sides.get(d).copied().unwrap_or((true, true)),
        };
        let point = bring_inside(exprs, *index, *extent, (low, high), &mut inside);
        // An axis is an index, whatever type the reader computes its value in.
        points.insert(*axis, exprs.as_index(point));
    }
    (points, inside)
}

/// Clamps an index into its dimension on the sides where it may be out of bounds. The condition that it is in bounds is added
/// to `inside`.
pub(crate) fn bring_inside(
    exprs: &Exprs,
    index: ExprId,
    extent: ExprId,
    (low, high): (bool, bool),
    inside: &mut Option<ExprId>,
) -> ExprId {
    let mut point = index;
    if high {
        let one = exprs.int(1);
        let last = exprs.difference(extent, one);
        point = exprs.binary(Binary::Min, point, last);
        let within = exprs.compare(Compare::Lt, index, extent);
        *inside = Some(both(exprs, *inside, within));
    }
    if low {
        let zero = exprs.int(0);
        point = exprs.binary(Binary::Max, point, zero);
        let within = exprs.compare(Compare::Ge, index, zero);
        *inside = Some(both(exprs, *inside, within));
    }
    point
}

/// Returns the conjunction of the conditions.
pub(crate) fn both(exprs: &Exprs, first: Option<ExprId>, second: ExprId) -> ExprId {
    debug_assert_eq!(exprs.dtype(second), DType::Bool);
    first.map_or(second, |first| exprs.binary(Binary::And, first, second))
}

impl Program {
    /// Returns a stage's value at the points of a read. Clamps in its indices become clamps of its own reads ([`Program::with_clamps`]).
    pub(crate) fn at_points(&self, value: ExprId, points: &HashMap<AxisId, ExprId>) -> ExprId {
        let exprs = &self.exprs;
        let new = exprs.rebuilt(value, &mut Map::default(), &mut |exprs, new, old| {
            Some(match new {
                Expr::Axis(axis) => points.get(&axis).copied().unwrap_or(old),
                ref new if exprs.get(old) == new => old,
                Expr::Read(read) => exprs.remade(Expr::Read(self.with_clamps(read)), old),
                new => exprs.remade(new, old),
            })
        });
        new.unwrap_or(value)
    }

    /// Returns a read with the clamps of its indices to the tensor's own range as clamps of the read. For example, `x[(i + 1).min(N - 1)]` is
    /// `x.clamp()[i + 1]`. So the element is at a constant place beside others, and the interior of a nest needs no clamp.
    pub(crate) fn with_clamps(&self, mut read: Read) -> Read {
        let mut sides: Sides = match &read.outside {
            Outside::Never => read.index.iter().map(|_| (false, false)).collect(),
            Outside::Clamp(sides) => sides.clone(),
            // Out of bounds, a padded tensor is not its nearest element.
            Outside::Fill(..) => return read,
        };
        let shape = &self.buffers[read.buffer].shape;
        for ((e, extent), sides) in read.index.iter_mut().zip(shape).zip(&mut sides) {
            while let Some((inner, is_low)) = clamped(&self.exprs, *e, *extent) {
                *e = inner;
                *if is_low { &mut sides.0 } else { &mut sides.1 } = true;
            }
        }
        if sides.iter().any(|(low, high)| *low || *high) {
            read.outside = Outside::Clamp(sides);
        }
        read
    }
}

/// Returns the operand of a clamp at an end of `0..extent`, and true if it is the low end.
fn clamped(exprs: &Exprs, e: ExprId, extent: ExprId) -> Option<(ExprId, bool)> {
    let Expr::Binary(op @ (Binary::Min | Binary::Max), a, b) = *exprs.get(e) else { return None };
    let end = if op == Binary::Max { exprs.int(0) } else { exprs.difference(extent, exprs.int(1)) };
    let inner = if b == end { a } else { Some(b).filter(|_| a == end)? };
    exprs.is_index(inner).then_some((inner, op == Binary::Max))
}
