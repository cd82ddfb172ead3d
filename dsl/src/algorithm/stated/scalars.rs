//! Facts about scalars in `where`: comparisons with numbers, for example `scale > 0.0`.
//!
//! Errors: comparisons with anything else; numbers that the scalar's type cannot represent; bounds that no number satisfies.

use crate::diag::{Error, list};
use crate::expr::Const;
use crate::launch::{DType, Relation};
use crate::nest::{Bound, Program, ScalarId};
use crate::syntax::expr::{Expr, ExprKind};

/// Records a comparison, if one of its sides is a scalar.
pub(super) fn note(program: &mut Program, fact: &Expr, needed: bool) -> Option<Result<(), Error>> {
    let ExprKind::Compare(op, _, a, b) = &fact.kind else { return None };
    let relation = *op;
    let (scalar, relation, other) = match (scalar(program, a), scalar(program, b)) {
        (Some(scalar), _) => (scalar, relation, b),
        (None, Some(scalar)) => (scalar, mirrored(relation), a),
        (None, None) => return None,
    };
    Some(bound(program, (scalar, relation), other, fact, needed).map(|bound| program.checks.bounds.push(bound)))
}

fn scalar(program: &Program, expr: &Expr) -> Option<ScalarId> {
    let ExprKind::Name(name) = &expr.kind else { return None };
    program.scalars.iter().find(|(_, scalar)| scalar.name == *name).map(|(id, _)| id)
}

fn bound(
    program: &mut Program,
    (scalar, relation): (ScalarId, Relation),
    other: &Expr,
    fact: &Expr,
    needed: bool,
) -> Result<Bound, Error> {
    let (name, dtype) = (program.scalars[scalar].name.clone(), program.scalars[scalar].dtype);
    if dtype == DType::Bool {
        let error = Error::new(fact.span, format!("`{name}` is a bool, and facts cannot be about bools"));
        return Err(error.help("write a variant for each value as two kernels, or choose by `if` within one"));
    }
    let Some((written, is_whole)) = number(other) else {
        let error = Error::new(other.span, format!("a fact must compare the scalar `{name}` with a number"));
        return Err(error.help(format!("write `{name} {} 0{}`", relation.symbol(), if dtype.is_float() { ".0" } else { "" })));
    };
    if is_whole == dtype.is_float() {
        let error = Error::new(
            other.span,
            format!("`{name}` has the dtype {dtype}, but this number is {}", if is_whole { "whole" } else { "not whole" }),
        );
        let help = if is_whole { "write it with a point: `1.0`" } else { "write a whole number" };
        return Err(error.help(help));
    }
    let value = Const::number(written, dtype).value();
    if !value.is_finite() || !dtype.is_float() && value != written {
        return Err(Error::new(other.span, format!("{dtype} cannot represent this number")));
    }
    let number = if dtype.is_float() { format!("{written:?}") } else { format!("{written}") };
    let text = format!("{name} {} {number}", relation.symbol());
    let bound = Bound { scalar, relation, value, text, span: fact.span, needed };
    if program.known_of_scalar(scalar).that_is(relation, value).is_impossible() {
        let others = program.checks.bounds.iter().filter(|bound| bound.scalar == scalar);
        let error = Error::new(fact.span, format!("no value of `{name}` satisfies `{}`{}", bound.text, beside(others.clone())));
        let error = others.fold(error, |error, other| error.note_at(other.span, format!("`{}` is stated here", other.text)));
        return Err(error.help("every launch would be refused: drop or correct a fact"));
    }
    Ok(bound)
}

fn beside<'b>(others: impl Iterator<Item = &'b Bound>) -> String {
    let texts: Vec<&String> = others.map(|bound| &bound.text).collect();
    if texts.is_empty() { String::new() } else { format!(" together with {}", list(texts)) }
}

/// Returns a number, and true if it is written as a whole number.
fn number(expr: &Expr) -> Option<(f64, bool)> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => Some((*value as f64, true)),
        ExprKind::Float { value, suffix: None } => Some((*value, false)),
        ExprKind::Neg(of) => number(of).map(|(value, is_whole)| (-value, is_whole)),
        _ => None,
    }
}

/// Returns the relation with its sides exchanged.
fn mirrored(relation: Relation) -> Relation {
    match relation {
        Relation::Eq | Relation::Ne => relation,
        Relation::Lt => Relation::Gt,
        Relation::Le => Relation::Ge,
        Relation::Gt => Relation::Lt,
        Relation::Ge => Relation::Le,
    }
}
