//! What hardware can combine by itself: monoids that are one operation.

use super::Monoid;
use crate::expr::{Binary, Expr, Exprs};
use crate::launch::{DType, Feature};

impl Monoid {
    /// Whether items are states that have taken in what was before ([`Program::running`](super::Program::running)). Their updates do nothing
    /// where others take the identity.
    pub fn goes_on(&self, exprs: &Exprs) -> bool {
        self.combine.first().is_some_and(|combine| matches!(exprs.get(*combine), Expr::Item(0)))
    }

    /// The operation and its type, if the monoid is one: not of tuples.
    pub fn operation(&self, exprs: &Exprs) -> Option<(Binary, DType)> {
        let [combine] = self.combine.as_slice() else { return None };
        let Expr::Binary(op, a, b) = exprs.get(*combine) else { return None };
        match (exprs.get(*a), exprs.get(*b)) {
            (Expr::State(0), Expr::Item(0)) | (Expr::Item(0), Expr::State(0)) => Some((*op, exprs.dtype(*combine))),
            _ => None,
        }
    }

    /// The operation, if one instruction may do it across a subgroup. None of integers: NVIDIA's driver gets those wrong
    /// (`docs/drivers.md`), and shuffles do it.
    pub fn of_subgroups(&self, exprs: &Exprs) -> Option<(Binary, DType)> {
        self.operation(exprs).filter(|(_, dtype)| !dtype.is_int())
    }

    /// Whether memory can combine states atomically: with no feature, with one, or not at all.
    pub fn atomic(&self, exprs: &Exprs) -> Option<Option<Feature>> {
        use Binary::{Add, And, Max, Min, Or, Xor};
        match self.operation(exprs)? {
            (Add | Min | Max | And | Or | Xor, DType::I32 | DType::U32) | (And | Or, DType::Bool) => Some(None),
            (Add, DType::F32) => Some(Some(Feature::AtomicF32Add)),
            _ => None,
        }
    }
}
