//! The possible values of an intermediate's elements, by its definition.

use crate::expr::{Expr, ExprId, Outside};
use crate::facts::Prover;
use crate::nest::fill::known_by;
use crate::nest::known::Known;
use crate::nest::{AxisId, Body, BufferId, Program, Space};
use tilewright_launch::MOST;

/// The most definitions that are followed, one within another.
const MAX_DEPTH: u32 = 8;

/// Returns the possible values of a buffer's elements. A definition is used only for buffers for which `is_whole` is true: all
/// their elements are written before they are read. (A running maximum starts from the previous blocks' maximum, so its values
/// are among the same values.)
pub(crate) fn known_of(program: &Program, buffer: BufferId, is_whole: &dyn Fn(BufferId) -> bool) -> Known {
    of_buffer(program, buffer, is_whole, 0)
}

fn of_buffer(program: &Program, buffer: BufferId, is_whole: &dyn Fn(BufferId) -> bool, depth: u32) -> Known {
    let dtype = program.buffers[buffer].dtype;
    // Tensors that are updated in place have other values before the update.
    let is_made_once = !matches!(program.buffers[buffer].space, Space::Input | Space::Update);
    // A reduction by atomics has two stages: one fills the buffer, the other adds to it.
    let mut stages = program.stages.values().filter(|stage| stage.buffers().contains(&buffer));
    let (Some(stage), None) = (stages.next(), stages.next()) else { return Known::any(dtype) };
    if stage.buffer != buffer || !is_made_once || !is_whole(buffer) || depth >= MAX_DEPTH {
        return Known::any(dtype);
    }
    let known = |value: ExprId, state: Option<Known>| {
        known_by(program, value, &|e| match program.exprs.get(e) {
            Expr::State(0) => state,
            Expr::Read(read) if !program.checks.finite.contains(&read.buffer) => {
                let inside = of_buffer(program, read.buffer, is_whole, depth + 1);
                match read.outside {
                    Outside::Fill(fill, _) => Some(inside.or(known_by(program, fill, &|_| None))),
                    _ => Some(inside),
                }
            }
            _ => None,
        })
    };
    match &stage.body {
        Body::Map(value) => known(*value, None),
        Body::Reduce { monoid, over, lift, finish } => {
            let [item] = lift[..] else { return Known::any(dtype) };
            let (item, own) = (known(item, None), program.exprs.dtype(item));
            let result = match monoid.name.as_str() {
                "sum" => item.summed(over.iter().map(|axis| extent(program, *axis)).product(), own),
                "max" | "min" => item.or(known(monoid.identity[0], None)),
                _ => Known::any(own),
            };
            known(*finish, Some(result))
        }
    }
}

/// Returns the most values that an axis can have. For a symbolic extent, this is the least of a few powers of two that provably bound it.
fn extent(program: &Program, axis: AxisId) -> f64 {
    let extent = program.axes[axis].extent;
    let bounded = |power: &i64| Prover::new(program).less_equal(extent, program.exprs.int(*power));
    let known = program.exprs.as_int(extent).or_else(|| [1 << 10, 1 << 16, 1 << 20].into_iter().find(bounded));
    known.unwrap_or(MOST) as f64
}
