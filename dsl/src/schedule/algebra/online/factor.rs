//! Checks that the factor of scores within the exponential is not negative. Otherwise the largest score would have the smallest
//! exponential, and the factor that rescales sums to a new maximum would be unbounded.
//!
//! The sign is known for a literal, and for an expression by the bounds of its scalars. If one scalar decides it, the launch checks
//! that scalar.

use super::recognize::Rescale;
use crate::diag::{Error, SpanId, list};
use crate::expr::{Expr, ExprId};
use crate::launch::Relation;
use crate::nest::fill::known_by;
use crate::nest::{Bound, Program, ScalarId, State, print};
use crate::syntax::Name;

/// Checks the factor, and adds a launch check if one is needed.
pub(super) fn check(program: &mut Program, rescale: Rescale, max: &Name, span: SpanId) -> Result<(), Error> {
    let Some(factor) = rescale.scale.filter(|factor| !is_right(program, *factor)) else { return Ok(()) };
    let scalars = scalars(program, factor);
    if let [scalar] = scalars[..] {
        for relation in [Relation::Ge, Relation::Le] {
            let text = format!("{} {} 0.0", program.scalars[scalar].name, relation.symbol());
            program.checks.bounds.push(Bound { scalar, relation, value: 0.0, text: text.clone(), span, needed: false });
            if is_right(program, factor) && !program.known_of_scalar(scalar).is_impossible() {
                program.owe(format!("`{text}`: the largest score has the largest exponential"), State::CheckedAtLaunch, span);
                return Ok(());
            }
            program.checks.bounds.pop();
        }
    }
    let text = print::expr(program, factor);
    let error = Error::new(max.span, format!("`{text}`, the factor of the scores within the exponential, can be negative"));
    let error = error.note("if it is negative, the largest score does not have the largest exponential");
    Err(match scalars[..] {
        [] => error.help("multiply the scores by it, before their maximum is taken"),
        _ => {
            let names = list(scalars.iter().map(|scalar| &program.scalars[*scalar].name));
            error.help(format!("state bounds of {names} in the schedule's header that exclude this: `where scale > 0.0`"))
        }
    })
}

/// True if a factor is known not to be negative. (If it is infinite or NaN, the largest score itself becomes NaN.)
fn is_right(program: &Program, factor: ExprId) -> bool {
    !known_by(program, factor, &|_| None).can_be_negative()
}

/// Returns the scalars that a value names.
fn scalars(program: &Program, value: ExprId) -> Vec<ScalarId> {
    let mut found = Vec::new();
    program.exprs.any(value, &mut |e| {
        if let Expr::Scalar(scalar) = e
            && !found.contains(scalar)
        {
            found.push(*scalar);
        }
        false
    });
    found
}
