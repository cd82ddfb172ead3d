//! The tail `round_up` on a reduction's axis: whole tiles run, and reads past the end give 0. That is right only when the
//! item is then the identity, which is proved here or refused. On a part of an axis it is a guard, and this is not asked.

use super::{Applied, StageNest};
use crate::diag::{Error, SpanId};
use crate::expr::fill::{Known, at_fill};
use crate::nest::{AxisId, Body, State};

/// Checks that the item is the identity where every read that depends on the axis gives 0.
pub fn check(nest: &mut StageNest<'_>, axis: AxisId, blame: SpanId) -> Applied {
    let program = &*nest.program;
    let Body::Reduce { monoid, lift, .. } = &program.stages[nest.stage].body else { return Ok(()) };
    let roots = program.roots(axis);
    let filled = |read: &crate::expr::Read| read.index.iter().any(|i| program.exprs.uses_axis(*i, &mut |a| roots.contains(&a)));
    for (item, identity) in lift.iter().zip(&monoid.identity) {
        let value = at_fill(program, *item, &filled);
        let wanted = at_fill(program, *identity, &|_| false);
        if matches!((value, wanted), (Known::Exactly(a), Known::Exactly(b)) if a == b) {
            continue;
        }
        let name = nest.name(axis);
        let why = match value {
            Known::Exactly(v) => {
                format!("past the end of `{name}` the item is {v}, and the identity of `{}` another value", monoid.name)
            }
            _ => format!(
                "past the end of `{name}` the item is not proved to be the identity of `{}`: 0 times an infinity is not 0",
                monoid.name
            ),
        };
        let error = Error::new(blame, format!("`round_up` would change the meaning of `{}`", monoid.name)).note(why);
        return Err(error.help(
            "write `guard`, or state in the schedule's head that a tensor holds neither infinities nor NaN: `where finite(x)`",
        ));
    }
    let what = format!("reads past the end of `{}` are 0, and the item is then the identity", nest.name(axis));
    let state = if nest.program.finite.is_empty() { State::Proved } else { State::Assumed };
    nest.program.owe(what, state, blame);
    Ok(())
}
