//! Shapes, derived dims and parameters: whole numbers computed from dims.

use super::names::Symbol;
use super::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, ExprId, Exprs};
use crate::nest::{Condition, State};
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use tilewright_launch::Relation;

/// The help for an expression that is not a size.
const MADE_OF: &str = "a size may contain dims, whole numbers and `+ - * / % << >>`";

/// Returns a shift by a number as a product or a quotient, and other operators as they are.
pub(super) fn shifted(exprs: &Exprs, op: BinaryOp, right: ExprId) -> (BinaryOp, ExprId) {
    let shift = exprs.as_int(right).and_then(|count| op.of_shift(count));
    shift.map_or((op, right), |(op, power)| (op, exprs.int(power)))
}

impl Checker<'_> {
    /// Checks a size.
    pub(super) fn size(&mut self, e: &Expr) -> Checked<ExprId> {
        match &e.kind {
            ExprKind::Int { value, suffix: None } => self.small(i128::from(*value), e.span),
            ExprKind::Int { suffix: Some(suffix), .. } => {
                self.fail(Error::new(e.span, format!("a size cannot have the type `{suffix}`")).help("write the number alone"))
            }
            ExprKind::Name(name) => match self.find(name, e.span, "dim")? {
                Symbol::Size(id) => Ok(id),
                other => {
                    let error = Error::new(e.span, format!("`{name}` is {}, not a dim", other.what()));
                    self.fail(error.help(MADE_OF))
                }
            },
            ExprKind::Neg(a) => {
                let a = self.size(a)?;
                let zero = self.program.exprs.int(0);
                self.combine_sizes(BinaryOp::Sub, zero, a, e.span)
            }
            ExprKind::Binary(op, at, a, b) => {
                let (a, b) = (self.size(a), self.size(b));
                let (a, b) = (a?, b?);
                let (op, b) = shifted(&self.program.exprs, *op, b);
                self.combine_sizes(op, a, b, *at)
            }
            _ => self.fail(Error::new(e.span, "this is not a size").help(MADE_OF)),
        }
    }

    fn combine_sizes(&mut self, symbol: BinaryOp, a: ExprId, b: ExprId, span: SpanId) -> Checked<ExprId> {
        let exprs = &self.program.exprs;
        let (x, y) = (exprs.as_int(a), exprs.as_int(b));
        let Some(op) = symbol.of_sizes() else {
            return self.fail(Error::new(span, format!("sizes do not have `{}`", symbol.symbol())).help(MADE_OF));
        };
        if matches!(op, Binary::FloorDiv | Binary::FloorMod) {
            match y {
                Some(1..) => {}
                Some(y) => {
                    return self
                        .fail(Error::new(span, format!("a size cannot be divided by {y}")).help("the divisor must be at least 1"));
                }
                None => {
                    let error = Error::new(span, "a size cannot be divided by a dim that is known only at launch");
                    return self
                        .fail(error.help("give the divisor a value, `S = 1`: it is then a parameter, which a schedule can pin"));
                }
            }
        }
        if let Some(value) = x.zip(y).and_then(|(x, y)| op.of_ints(x, y)) {
            return self.small(value, span);
        }
        Ok(self.program.exprs.binary(op, a, b))
    }

    /// Returns an index literal, which must fit in 32 bits.
    pub(super) fn small(&mut self, value: i128, span: SpanId) -> Checked<ExprId> {
        match i32::try_from(value) {
            Ok(value) => Ok(self.program.exprs.int(i64::from(value))),
            Err(_) => self.fail(Error::new(span, format!("{value} does not fit in an index")).note("indices have 32 bits")),
        }
    }

    /// Makes sure that a size is at least `least`: this is proved, or checked at launch.
    pub(super) fn at_least(&mut self, size: ExprId, least: i64, span: SpanId) {
        let bound = self.program.exprs.int(least);
        let rest = self.program.exprs.difference(size, bound);
        let text = format!("{} >= {least}", super::bounds::show(&self.program, size));
        if self.proves_nonneg(rest) {
            return;
        }
        let known = |c: &Condition| (c.left, c.relation, c.right) == (size, Relation::Ge, bound);
        if !self.program.checks.conditions.iter().any(known) {
            self.program.owe(text.clone(), State::CheckedAtLaunch, span);
            self.program.checks.conditions.push(Condition {
                left: size,
                relation: Relation::Ge,
                right: bound,
                text,
                span,
                needed: true,
            });
        }
    }
}
