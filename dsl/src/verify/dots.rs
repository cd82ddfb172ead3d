//! Dot products: checks that a leaf in a loop of [`Exec::Dot`] updates a sum by the product of two bytes that are read.
//!
//! The loop means the same as a serial loop, so the other checks cover its values, its predicates and its accesses. The device
//! computes the sum of four products of bytes exactly, and its bits are the bits of a sum that wraps at 32 bits. No other item is
//! computed so.

use super::Rule;
use super::context::Checks;
use crate::expr::{Binary, Expr, ExprId};
use crate::launch::DType;
use crate::nest::{Body, Compute, Exec, NodeKind, Phase, StageId};

impl Checks<'_> {
    /// Checks every leaf in a dot product.
    pub(super) fn dots(&self) {
        for site in self.sites {
            let Some(dot) = site.loops().find(|looped| looped.exec == Exec::Dot) else { continue };
            let NodeKind::Compute(compute) = &site.node.kind else { continue };
            let leaves = self.made_of(self.reduced(site), site).leaves;
            let wrong = if !self.sums_in_dot(compute) {
                Some("does not add a product to a sum")
            } else if !leaves.contains(&dot.axis) {
                Some("is in a dot product over an axis that it does not sum over")
            } else if !compute.value.iter().all(|item| self.is_product_of_bytes(*item)) {
                Some("is in a dot product, but does not multiply two bytes that are read")
            } else {
                None
            };
            if let Some(wrong) = wrong {
                let line = self.line(site);
                self.refuse(Rule::Limits, site.span(), format!("`{line}` {wrong}"));
            }
        }
    }

    /// True if a compute is an update of a sum. Before lowering, the whole reduction is one compute.
    fn sums_in_dot(&self, compute: &Compute) -> bool {
        matches!(compute.phase, Phase::Update | Phase::Whole) && compute.value.len() == 1 && self.is_sum(compute.stage)
    }

    fn is_sum(&self, stage: StageId) -> bool {
        let Body::Reduce { monoid, .. } = &self.program.stages[stage].body else { return false };
        let [combine] = monoid.combine[..] else { return false };
        let Expr::Binary(Binary::Add, a, b) = *self.program.exprs.get(combine) else { return false };
        let operands = [a, b].map(|e| self.program.exprs.get(e));
        matches!(operands, [Expr::State(0), Expr::Item(0)] | [Expr::Item(0), Expr::State(0)])
    }

    /// True if an item is a product in 32 bits whose factors are bytes.
    fn is_product_of_bytes(&self, item: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let Expr::Binary(Binary::Mul, a, b) = *exprs.get(item) else { return false };
        matches!(exprs.dtype(item), DType::I32 | DType::U32) && [a, b].into_iter().all(|factor| self.is_byte(factor))
    }

    /// True if a value is a byte that is read, or its conversion to a type that has the same number.
    fn is_byte(&self, value: ExprId) -> bool {
        let exprs = &self.program.exprs;
        match exprs.get(value) {
            Expr::Read(_) => matches!(exprs.dtype(value), DType::I8 | DType::U8),
            Expr::Cast(to, of) => {
                let (wide, narrow) = (to.int_range(), exprs.dtype(*of).int_range());
                let keeps = wide.zip(narrow).is_some_and(|(wide, narrow)| wide.0 <= narrow.0 && narrow.1 <= wide.1);
                keeps && self.is_byte(*of)
            }
            _ => false,
        }
    }
}
