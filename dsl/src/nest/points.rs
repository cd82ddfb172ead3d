//! The values of a stage's axes for a read of its result, clamped into the stage, and the condition that the read is in bounds.
//! This is part of the meaning of a nest, so both the passes and the verifier use it.

use super::{AxisId, Buffer};
use crate::expr::{Binary, Compare, ExprId, Exprs, Outside, Read};
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
