//! Numbers in directives: constant expressions of literals and the kernel's parameters.

use super::StageNest;
use crate::diag::{Error, list};
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};

impl StageNest<'_> {
    /// The value of a number, which must be at least 1. `what` names it in the error.
    pub fn positive(&self, expr: &Expr, what: &str) -> Result<i64, Error> {
        let value = self.number(expr)?;
        if (1..=i64::from(i32::MAX)).contains(&value) {
            return Ok(value);
        }
        Err(Error::new(expr.span, format!("{what} must be at least 1 and below 2^31, not {value}")))
    }

    fn number(&self, expr: &Expr) -> Result<i64, Error> {
        let overflow = || Error::new(expr.span, "this number does not fit 64 bits");
        match &expr.kind {
            ExprKind::Int { value, suffix: None } => i64::try_from(*value).map_err(|_| overflow()),
            ExprKind::Neg(a) => self.number(a)?.checked_neg().ok_or_else(overflow),
            ExprKind::Name(name) => {
                let known = self.program.parameters.iter().find(|(n, _)| n == name);
                known.map(|(_, value)| *value).ok_or_else(|| {
                    let names = list(self.program.parameters.iter().map(|(n, _)| n));
                    let error = Error::new(expr.span, format!("`{name}` is no number at compile time"));
                    error.help(format!("numbers are made of literals and the kernel's parameters: {names}"))
                })
            }
            ExprKind::Binary(op, _, a, b) => {
                let (a, b) = (self.number(a)?, self.number(b)?);
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
            ExprKind::Block(block) if block.lets.is_empty() => self.number(&block.value),
            _ => Err(Error::new(expr.span, "a whole number is wanted here")),
        }
    }
}
