//! Evaluates accesses to numbers: the indices at one point of the loops, and the element of a shared buffer that they address.
//!
//! Dims that are known only at launch count as a large power of two, because only the distance between neighbours matters, not the address.

use std::collections::{HashMap, HashSet};
use tilewright_dsl::expr::{Expr, ExprId};
use tilewright_dsl::nest::{AxisId, Buffer, Program};

/// The value that a symbolic dim counts as.
const DIM: i64 = 1 << 20;

/// The values of axes at one point of the loops.
pub(super) type Point = HashMap<AxisId, i64>;

/// Returns the value of an expression over loop axes and dims, or `None` if it depends on data or does not fit in 64 bits.
pub(super) fn value(program: &Program, id: ExprId, point: &Point) -> Option<i64> {
    value_once(program, id, point, &mut HashMap::new())
}

/// Does the same as [`value`], and looks up known subexpressions in `done`.
fn value_once(program: &Program, id: ExprId, point: &Point, done: &mut HashMap<ExprId, Option<i64>>) -> Option<i64> {
    match program.exprs.get(id) {
        Expr::Const(_) => return program.exprs.as_int(id),
        Expr::Axis(axis) => return point.get(axis).copied(),
        _ => {}
    }
    if let Some(known) = done.get(&id) {
        return *known;
    }
    let known = by_parts(program, id, &mut |id| value_once(program, id, point, done));
    done.insert(id, known);
    known
}

/// Computes the value of an expression from the values of its operands.
fn by_parts(program: &Program, id: ExprId, of: &mut dyn FnMut(ExprId) -> Option<i64>) -> Option<i64> {
    match *program.exprs.get(id) {
        Expr::Dim(dim) => program.dims[dim].derived.map_or(Some(DIM), of),
        Expr::Unary(op, a) => op.of_int(of(a)?),
        Expr::Select(cond, yes, no) => {
            let Expr::Compare(op, a, b) = *program.exprs.get(cond) else { return None };
            if op.holds(of(a)?, of(b)?) { of(yes) } else { of(no) }
        }
        Expr::Binary(op, a, b) => op.exact(of(a)?, of(b)?),
        _ => None,
    }
}

/// Returns indices over the axes of the enclosing loops, as [`value`] needs them.
pub(super) fn over(program: &Program, index: &[ExprId], bound: &HashSet<AxisId>) -> Vec<ExprId> {
    index.iter().map(|e| program.over_leaves(*e, bound)).collect()
}

/// Returns the element of a local buffer that indices address, counted from its first element in memory. Row pads and swizzles are
/// included.
pub(super) fn element(program: &Program, buffer: &Buffer, index: &[i64]) -> Option<i64> {
    let shape: Vec<i64> = buffer.shape.iter().map(|n| program.exprs.as_int(*n)).collect::<Option<_>>()?;
    let versions = index.len().checked_sub(shape.len())?;
    let Some((length, outer)) = shape.split_last() else { return Some(0) };
    let (column, rows) = index[versions..].split_last()?;
    let row = outer.iter().zip(rows).try_fold(0i64, |row, (extent, n)| row.checked_mul(*extent)?.checked_add(*n))?;
    let first = row.checked_mul(length.checked_add(i64::from(buffer.row_pad))?)?;
    first.checked_add(swizzled(buffer, *length, row, *column))
}

fn swizzled(buffer: &Buffer, length: i64, row: i64, column: i64) -> i64 {
    let group = i64::from(buffer.swizzle);
    if group == 0 {
        return column;
    }
    let groups = length / group;
    let permuted = groups & groups.wrapping_neg();
    ((column / group) ^ row.rem_euclid(permuted.max(1))) * group + column % group
}
