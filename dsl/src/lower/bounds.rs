//! Extents that name inexact axes. An invocation past the end of `i` would run `j in 0..i + 1` further than the algorithm
//! ever does, and the reads under it were proved for the algorithm's points. So there, `i` is the last legal value.

use crate::expr::{Binary, Expr, ExprId};
use crate::nest::{AxisId, Program};
use std::collections::HashMap;

/// Clamps the axes that extents name, where they can run past their end.
pub fn clamp(program: &mut Program) {
    let axes: Vec<AxisId> = program.axes.ids().collect();
    for axis in axes {
        let extent = program.axes[axis].extent;
        program.axes[axis].extent = clamped(program, extent);
    }
}

fn clamped(program: &mut Program, extent: ExprId) -> ExprId {
    let mut named: Vec<AxisId> = Vec::new();
    program.exprs.uses_axis(extent, &mut |a| {
        named.push(a);
        false
    });
    named.retain(|a| !program.predicates(&[*a]).is_empty());
    let mut last = HashMap::new();
    for axis in named {
        let (have, one) = (program.axes[axis].extent, program.exprs.int(1));
        let most = program.exprs.difference(have, one);
        let most = clamped(program, most);
        let value = program.exprs.axis(axis);
        last.insert(axis, program.exprs.binary(Binary::Min, value, most));
    }
    program.exprs.replace(extent, &mut |exprs, id| match exprs.get(id) {
        Expr::Axis(a) => last.get(a).copied(),
        _ => None,
    })
}
