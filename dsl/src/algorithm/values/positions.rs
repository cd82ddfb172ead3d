//! Elements of `i64`: the positions that frameworks store in 64 bits. An element is the number of 32 bits that is nearest to it. This makes
//! `clamp`, `pad` and comparisons with sizes right, because sizes have 32 bits. Other operations would show the difference between the two
//! numbers, so they need a cast to `i32`, which says that the nearest number is wanted.

use crate::algorithm::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Expr as Node, ExprId};
use crate::nest::Space;
use crate::syntax::expr::Expr;
use tilewright_launch::DType;

/// Returns the dtype of the values that take part in one operation with values of a dtype.
pub(super) fn as_operand(dtype: DType) -> DType {
    if dtype == DType::I64 { DType::I32 } else { dtype }
}

impl Checker<'_> {
    /// Returns an operand of an operation that takes elements of `i64`.
    pub(in crate::algorithm) fn position(&self, id: ExprId) -> ExprId {
        let exprs = &self.program.exprs;
        if exprs.dtype(id) == DType::I64 { exprs.cast(DType::I32, id) } else { id }
    }

    /// Refuses elements of `i64` as operands of an operation.
    pub(in crate::algorithm) fn computes(&mut self, what: &str, span: SpanId, operands: &[(&Expr, ExprId)]) -> Checked<()> {
        let Some((of, _)) = operands.iter().find(|(_, id)| self.program.exprs.dtype(*id) == DType::I64) else { return Ok(()) };
        let error = Error::new(span, format!("there is no {what} of an `i64`"));
        let error =
            error.note("elements of `i64` can be indices, compared with an `i32`, and operands of `clamp`, `min` and `max`");
        self.fail(error.help(format!("convert it to the nearest number of 32 bits: `{} as i32`", of.short_operand())))
    }

    /// Checks a cast to or from `i64`.
    pub(super) fn cast_of_position(&mut self, a: &Expr, value: ExprId, to: DType) -> Checked<()> {
        let from = self.program.exprs.dtype(value);
        let is_kept = |of: DType| of == DType::Bool || DType::I32.has_all_of(of);
        match (from, to) {
            (DType::I64, DType::I64) => Ok(()),
            (DType::I64, _) if to != DType::I32 => {
                let error = Error::new(a.span, format!("an `i64` cannot be converted to `{to}`"));
                self.fail(error.help(format!("write `{} as i32 as {to}`", a.short_operand())))
            }
            (_, DType::I64) if !is_kept(from) => {
                let error =
                    Error::new(a.span, format!("`{from}` cannot be converted to `i64`, whose values have 32 bits and a sign"));
                self.fail(error.help(format!("write `{} as i32 as i64`", a.short_operand())))
            }
            (_, DType::I64) if self.is_index(value) => self.must_fit(value, a.span),
            _ => Ok(()),
        }
    }

    /// Refuses to store an element of `i64`, because the result would be another number if the element has more than 32 bits.
    pub(in crate::algorithm) fn stored(&mut self, e: &Expr, value: ExprId) -> Checked<()> {
        let exprs = &self.program.exprs;
        let mut open = vec![value];
        while let Some(id) = open.pop().filter(|id| exprs.dtype(*id) == DType::I64) {
            match *exprs.get(id) {
                Node::Select(_, a, b) => open.extend([a, b]),
                Node::Read(_) => {
                    let error =
                        Error::new(e.span, "an element of `i64` cannot be stored: only its nearest number of 32 bits is known");
                    return self.fail(error.help(format!("store that number: `{} as i32 as i64`", e.short_operand())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses `i64` as the dtype of anything but an argument or a result.
    pub(in crate::algorithm) fn holds_positions(
        &mut self,
        name: &str,
        dtype: DType,
        space: Option<&Space>,
        span: SpanId,
    ) -> Checked<()> {
        let is_of_caller = matches!(space, Some(Space::Input | Space::Update | Space::Output));
        if dtype != DType::I64 || is_of_caller {
            return Ok(());
        }
        let error = Error::new(span, format!("`{name}` cannot be an `i64`, because only the caller's tensors have 64 bits"));
        self.fail(error.help("write `i32`"))
    }
}
