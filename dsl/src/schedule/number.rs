//! Numbers in directives: constant expressions over literals, the kernel's parameters and tuned constants.

use super::StageNest;
use crate::diag::{Error, did_you_mean, list};
use crate::nest::Program;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};

impl StageNest<'_> {
    /// Evaluates a number, which must be at least 1. `what` names it in the error.
    pub fn positive(&mut self, expr: &Expr, what: &str) -> Result<i64, Error> {
        positive(self.program, expr, what)
    }

    /// Evaluates a number of the schedule, which may be 0.
    pub fn count(&mut self, expr: &Expr, what: &str) -> Result<i64, Error> {
        at_least(self.program, 0, expr, what)
    }
}

/// Evaluates a number, which must be at least 1 and below 2^31. `what` names it in the error.
pub(super) fn positive(program: &mut Program, expr: &Expr, what: &str) -> Result<i64, Error> {
    at_least(program, 1, expr, what)
}

/// Evaluates a number, which must be at least `least` and below 2^31. `what` names it in the error.
pub(super) fn at_least(program: &mut Program, least: i64, expr: &Expr, what: &str) -> Result<i64, Error> {
    let value = number(program, expr)?;
    if (least..=i64::from(i32::MAX)).contains(&value) {
        return Ok(value);
    }
    let error = Error::new(expr.span, format!("{what} must be at least {least} and below 2^31, not {value}"));
    Err(if matches!(expr.kind, ExprKind::Int { .. } | ExprKind::Neg(_)) { error } else { with_tuned(program, error) })
}

/// Adds the values of tuned constants to an error about a number, because they may be its cause.
fn with_tuned(program: &Program, error: Error) -> Error {
    let values: Vec<String> = program.statements.tuned.iter().map(|t| format!("{} = {}", t.name, t.value)).collect();
    if values.is_empty() { error } else { error.note(format!("with {}", values.join(", "))) }
}

/// Evaluates a number.
pub(super) fn number(program: &mut Program, expr: &Expr) -> Result<i64, Error> {
    let overflow = || Error::new(expr.span, "this number does not fit 64 bits");
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => i64::try_from(*value).map_err(|_| overflow()),
        ExprKind::Neg(a) => number(program, a)?.checked_neg().ok_or_else(overflow),
        ExprKind::Name(name) => named(program, name).ok_or_else(|| unknown(program, name, expr)),
        ExprKind::Binary(op, _, a, b) => {
            let (a, b) = (number(program, a)?, number(program, b)?);
            let value = match op {
                BinaryOp::Add => a.checked_add(b),
                BinaryOp::Sub => a.checked_sub(b),
                BinaryOp::Mul => a.checked_mul(b),
                BinaryOp::Div | BinaryOp::Rem if b == 0 => return Err(Error::new(expr.span, "this divides by zero")),
                BinaryOp::Div => a.checked_div_euclid(b),
                BinaryOp::Rem => a.checked_rem_euclid(b),
                _ => return Err(Error::new(expr.span, "a number can be made with `+`, `-`, `*`, `/` and `%`")),
            };
            value.ok_or_else(overflow)
        }
        ExprKind::Block(block) if block.lets.is_empty() => number(program, &block.value),
        _ => Err(Error::new(expr.span, "expected a whole number")),
    }
}

/// Returns the value of a parameter or of a tuned constant, and marks the tuned constant as used.
fn named(program: &mut Program, name: &str) -> Option<i64> {
    if let Some(tuned) = program.statements.tuned.iter_mut().find(|t| t.name == name) {
        tuned.used = true;
        return Some(tuned.value);
    }
    program.parameters.iter().find(|(n, _)| n == name).map(|(_, value)| *value)
}

fn unknown(program: &Program, name: &str, expr: &Expr) -> Error {
    let error = Error::new(expr.span, format!("`{name}` is not a number known at compile time"));
    let parameters = || program.parameters.iter().map(|(n, _)| n.as_str());
    let tuned = || program.statements.tuned.iter().map(|t| t.name.as_str());
    if let Some(help) = did_you_mean(name, parameters().chain(tuned())) {
        return error.help(help);
    }
    let mut made = format!("a number can use literals and the kernel's parameters: {}", list(parameters()));
    if tuned().next().is_some() {
        made = format!("{made}; and the tuned constants: {}", list(tuned()));
    }
    error.help(made)
}
