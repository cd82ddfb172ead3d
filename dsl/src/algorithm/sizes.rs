//! Shapes, derived dims and parameters: whole numbers computed from dims.
//!
//! The divisor of a size is at least 1: this is proved, or checked at launch.

use super::names::Symbol;
use super::{Checked, Checker};
use crate::diag::{Error, SpanId};
use crate::expr::{Binary, Expr as Node, ExprId, Exprs};
use crate::nest::{Condition, State};
use crate::syntax::Name;
use crate::syntax::expr::{BinaryOp, Expr, ExprKind};
use tilewright_launch::Relation;

/// The help for an expression that is not a size.
pub(super) const MADE_OF: &str = "a size may contain dims, parameters, whole numbers, `+ - * / % << >>`, `min` and `max`";

/// Returns the operator and the argument of a method of sizes, `N.min(M)`.
pub(super) fn extremum<'e>(name: &str, args: &'e [Expr]) -> Option<(Binary, &'e Expr)> {
    match (name, args) {
        ("min", [arg]) => Some((Binary::Min, arg)),
        ("max", [arg]) => Some((Binary::Max, arg)),
        _ => None,
    }
}

/// Returns the help for a call in a size. In Rust's form, `min(N, M)` is a method.
pub(super) fn called(function: &Name, args: &[Expr]) -> String {
    match args {
        [a, b] if extremum(function.as_str(), &args[1..]).is_some() => {
            format!("write `{}.{function}({})`", a.short_operand(), b.short())
        }
        _ => MADE_OF.into(),
    }
}

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
            ExprKind::Method { receiver, name, args } => {
                let Some((op, b)) = extremum(name.as_str(), args) else {
                    return self.fail(Error::new(name.span, format!("sizes do not have `{name}`")).help(MADE_OF));
                };
                let (a, b) = (self.size(receiver), self.size(b));
                self.size_of(op, a?, b?, e.span)
            }
            ExprKind::Call { function, args } => self.fail(Error::new(e.span, "this is not a size").help(called(function, args))),
            _ => self.fail(Error::new(e.span, "this is not a size").help(MADE_OF)),
        }
    }

    fn combine_sizes(&mut self, symbol: BinaryOp, a: ExprId, b: ExprId, span: SpanId) -> Checked<ExprId> {
        let Some(op) = symbol.of_sizes() else {
            return self.fail(Error::new(span, format!("sizes do not have `{}`", symbol.symbol())).help(MADE_OF));
        };
        if matches!(op, Binary::FloorDiv | Binary::FloorMod) {
            match self.program.exprs.as_int(b) {
                Some(1..) => {}
                Some(b) => {
                    return self
                        .fail(Error::new(span, format!("a size cannot be divided by {b}")).help("the divisor must be at least 1"));
                }
                None => self.divisors.push((b, span)),
            }
        }
        self.size_of(op, a, b, span)
    }

    /// Returns the size that an operator computes.
    fn size_of(&mut self, op: Binary, a: ExprId, b: ExprId, span: SpanId) -> Checked<ExprId> {
        let exprs = &self.program.exprs;
        if let Some(value) = exprs.as_int(a).zip(exprs.as_int(b)).and_then(|(a, b)| op.of_ints(a, b)) {
            return self.small(value, span);
        }
        Ok(self.program.exprs.binary(op, a, b))
    }

    /// Makes sure that the divisors of the sizes so far are at least 1, also where no axis has a value. The facts must be known, because most
    /// of them follow from facts.
    pub(super) fn divide(&mut self) {
        let scope = [&mut self.definition.axes, &mut self.definition.running].map(std::mem::take);
        for (divisor, span) in std::mem::take(&mut self.divisors) {
            self.at_least(divisor, 1, span);
        }
        [self.definition.axes, self.definition.running] = scope;
    }

    /// Does the same with the divisors in an end of a range, because launches compute the extents of ranges.
    pub(super) fn divide_in(&mut self, end: ExprId, span: SpanId) {
        let exprs = &self.program.exprs;
        let mut found = Vec::new();
        exprs.any(end, &mut |e| {
            if let Node::Binary(Binary::FloorDiv | Binary::FloorMod, _, by) = e {
                found.push(*by);
            }
            false
        });
        found.retain(|by| exprs.as_int(*by).is_none() && !exprs.uses_axis(*by, &mut |_| true));
        self.divisors.extend(found.into_iter().map(|by| (by, span)));
        self.divide();
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
