//! Powers with integer exponents: `powi` of floats and `pow` of integers.

use crate::algorithm::names::Symbol;
use crate::algorithm::types::article;
use crate::algorithm::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Const, ExprId};
use crate::syntax::expr::{Expr, ExprKind};
use tilewright_launch::DType;

/// The highest literal exponent.
const MAX_EXPONENT: i64 = 1024;

impl Checker<'_> {
    /// Makes a power: `powi` of a float, or `pow` of an integer.
    pub(super) fn power(
        &mut self,
        span: SpanId,
        float: bool,
        of: &Expr,
        exponent: &Expr,
        wanted: Option<DType>,
    ) -> Checked<ExprId> {
        let base = self.value(of, wanted)?;
        self.computes("power", span, &[(of, base)])?;
        let dtype = self.program.exprs.dtype(base);
        if dtype.is_float() != float || !(dtype.is_float() || dtype.is_int()) {
            let (wrong, other) = match (float, self.is_whole(exponent)) {
                (true, _) => ("powi", "pow"),
                (false, true) => ("pow", "powi"),
                (false, false) => ("pow", "powf"),
            };
            let error = Error::new(span, format!("there is no `{wrong}` of {}", article(dtype)));
            return self.fail(error.help(format!("write `{}.{other}({})`", of.short_operand(), exponent.short())));
        }
        let exponent_id = self.value(exponent, Some(if float || self.is_whole(exponent) { DType::I32 } else { DType::U32 }))?;
        let exprs = &self.program.exprs;
        let (literal, of_exponent) = (exprs.as_int(exponent_id), exprs.dtype(exponent_id));
        if !float && literal.is_none() {
            if of_exponent != DType::U32 {
                let error = Error::new(exponent.span, format!("the exponent of `pow` is a `u32`, not {}", article(of_exponent)));
                return self
                    .fail(error.maybe_help(of_exponent.is_int().then(|| format!("write `{} as u32`", exponent.short_operand()))));
            }
            // The power of an index wraps, as data does.
            let base = if exprs.is_index(base) { exprs.cast(dtype, base) } else { base };
            return Ok(exprs.binary(Binary::IntPow, base, exponent_id));
        }
        let low = if float { -MAX_EXPONENT } else { 0 };
        let Some(n) = literal.filter(|n| (low..=MAX_EXPONENT).contains(n)) else {
            let error = Error::new(exponent.span, format!("the exponent must be a literal from {low} to {MAX_EXPONENT}"));
            let help = match literal {
                _ if float => Some("for other exponents, write `x.powf(y)`".into()),
                Some(n) if n > MAX_EXPONENT => Some(format!("write `{n}u32`")),
                _ => None,
            };
            return self.fail(error.maybe_help(help));
        };
        Ok(self.literal_power(base, n))
    }

    /// Returns a power with a literal exponent, by multiplication.
    fn literal_power(&self, base: ExprId, n: i64) -> ExprId {
        let exprs = &self.program.exprs;
        let one = exprs.constant(Const::number(1.0, exprs.dtype(base)));
        let (mut result, mut square, mut rest) = (None, base, n.unsigned_abs());
        while rest > 0 {
            if rest % 2 == 1 {
                result = Some(result.map_or(square, |r| exprs.product(r, square)));
            }
            rest /= 2;
            if rest > 0 {
                square = exprs.product(square, square);
            }
        }
        let result = result.unwrap_or(one);
        if n < 0 { exprs.binary(Binary::Div, one, result) } else { result }
    }

    /// True if an exponent consists of integer literals and parameters.
    pub(super) fn is_whole(&self, exponent: &Expr) -> bool {
        match &exponent.kind {
            ExprKind::Int { .. } => true,
            ExprKind::Neg(of) => self.is_whole(of),
            ExprKind::Binary(_, _, a, b) => self.is_whole(a) && self.is_whole(b),
            ExprKind::Name(name) => match self.names.find(name) {
                Some((_, Symbol::Size(id))) => self.program.exprs.as_int(*id).is_some(),
                Some((_, Symbol::Literal(literal))) => literal.is_whole,
                _ => false,
            },
            _ => false,
        }
    }
}
