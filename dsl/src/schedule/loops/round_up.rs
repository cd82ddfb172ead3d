//! The tail `round_up` on a reduction's axis: whole tiles run, and out-of-bounds reads give 0. This is correct only if the
//! reduction operand is then the identity, which is proved here or refused. On a parallel axis, or on a part of a split axis,
//! `round_up` acts as a guard, and this check is not made.

use crate::diag::{Error, SpanId};
use crate::expr::{Expr, ExprId, Unary};
use crate::nest::fill::{Known, at_fill, is_same, known_by};
use crate::nest::{AxisId, Body, BufferId, Program, Space, State};
use crate::schedule::{Applied, StageNest};

/// The help for any reduction operand.
const GUARD: &str = "write `guard`: points out of bounds then count as the identity";

/// The help for a product.
const FINITE: &str = "write `guard`, or state in the schedule's header that a tensor is finite: `where finite(x)`";

/// Checks that the reduction operand is the identity if every read that depends on the axis gives 0.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, blame: SpanId) -> Applied {
    let program = &*nest.program;
    let Body::Reduce { monoid, lift, .. } = &program.stages[nest.stage].body else { return Ok(()) };
    if let Some(copy) = in_registers(program, &nest.path.compute.value, axis) {
        let (copy, name) = (&program.buffers[copy], nest.name(axis));
        let error = Error::new(
            blame,
            format!("`{}` is in registers that `{name}` indexes, where out-of-bounds elements are not filled", copy.name),
        );
        return Err(error
            .note_at(copy.span, "it is placed in registers here")
            .help(format!("tile `{name}` before that directive, or write `guard`")));
    }
    let roots = program.roots(axis);
    let filled = |read: &crate::expr::Read| read.index.iter().any(|i| program.exprs.uses_axis(*i, &mut |a| roots.contains(&a)));
    // Operands that read a copy are checked as well, because a copy's elements are not filled.
    let items = lift.iter().zip(&monoid.identity).chain(nest.path.compute.value.iter().zip(&monoid.identity));
    for (item, identity) in items {
        let value = at_fill(program, *item, &filled);
        let wanted = at_fill(program, *identity, &|_| false);
        if is_same(value, wanted) {
            continue;
        }
        let name = nest.name(axis);
        // Check whether it would be the identity if all tensors were finite.
        let finite = known_by(program, *item, &|e| match program.exprs.get(e) {
            Expr::Read(read) => Some(if filled(read) { Known::exactly(0.0) } else { Known::finite(program.exprs.dtype(e)) }),
            Expr::Unary(Unary::Index, _) => Some(Known::any(program.exprs.dtype(e))),
            _ => None,
        });
        let (why, help) = match (value.value(), is_same(finite, wanted)) {
            (Some(v), _) => {
                (format!("out of bounds of `{name}` the item is {v}, which is not the identity of `{}`", monoid.name), GUARD)
            }
            (_, true) => (unproved(name, &format!("`{}`: 0 times an infinity is not 0", monoid.name)), FINITE),
            (_, false) => (unproved(name, &format!("`{}`", monoid.name)), GUARD),
        };
        let error = Error::new(blame, format!("`round_up` would change the meaning of `{}`", monoid.name)).note(why);
        return Err(error.help(help));
    }
    let what = format!("reads out of bounds of `{}` are 0, and the item is then the identity", nest.name(axis));
    let state = if nest.program.checks.finite.is_empty() { State::Proved } else { State::Assumed };
    nest.program.owe(what, state, blame);
    Ok(())
}

fn unproved(axis: &str, of: &str) -> String {
    format!("out of bounds of `{axis}` the item is not proved to be the identity of {of}")
}

/// Returns a copy in registers whose index depends on the axis.
fn in_registers(program: &Program, values: &[ExprId], axis: AxisId) -> Option<BufferId> {
    let reads = values.iter().flat_map(|v| program.exprs.reads(*v));
    let mut local = reads.filter(|r| program.buffers[r.buffer].space == Space::Register);
    local.find(|r| r.index.iter().any(|i| program.exprs.uses_axis(*i, &mut |a| a == axis))).map(|r| r.buffer)
}
