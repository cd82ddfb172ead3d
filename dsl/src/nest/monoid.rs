//! Monoids that hardware can combine, because they are one operation.

use super::Monoid;
use crate::expr::{Binary, Expr, Exprs};
use crate::launch::{DType, Feature};

impl Monoid {
    /// True if items are states that already include the previous state ([`Notes::running`](super::Notes::running)). For such a
    /// monoid, an update that would take the identity does nothing instead.
    pub fn goes_on(&self, exprs: &Exprs) -> bool {
        self.combine.first().is_some_and(|combine| matches!(exprs.get(*combine), Expr::Item(0)))
    }

    /// Returns the operation and its type, if the monoid is a single operation. A monoid on tuples is not.
    pub fn operation(&self, exprs: &Exprs) -> Option<(Binary, DType)> {
        let [combine] = self.combine.as_slice() else { return None };
        let Expr::Binary(op, a, b) = exprs.get(*combine) else { return None };
        match (exprs.get(*a), exprs.get(*b)) {
            (Expr::State(0), Expr::Item(0)) | (Expr::Item(0), Expr::State(0)) => Some((*op, exprs.dtype(*combine))),
            _ => None,
        }
    }

    /// Returns the operation if one instruction may combine it across a subgroup. Integers use shuffles instead, because NVIDIA's
    /// driver gets their instructions wrong (`docs/drivers.md`), and so does bfloat16, because no instruction rounds to it.
    pub fn of_subgroups(&self, exprs: &Exprs) -> Option<(Binary, DType)> {
        self.operation(exprs).filter(|(_, dtype)| !dtype.is_int() && !dtype.is_narrow())
    }

    /// Returns the feature, if any, with which memory can combine states atomically; `None` if it cannot.
    pub fn atomic(&self, exprs: &Exprs) -> Option<Option<Feature>> {
        use Binary::{Add, And, Max, Min, Or, Xor};
        match self.operation(exprs)? {
            (Add | Min | Max | And | Or | Xor, DType::I32 | DType::U32) | (And | Or, DType::Bool) => Some(None),
            (Add, DType::F32) => Some(Some(Feature::AtomicF32Add)),
            _ => None,
        }
    }
}
