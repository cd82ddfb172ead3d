//! What extents say of themselves, without proof: they are of dims and axes, which are never negative.

use super::{Binary, Expr, ExprId, Exprs};

impl Exprs {
    /// Whether an extent is not negative, however far past its end an axis is that it names.
    pub fn is_never_negative(&self, e: ExprId) -> bool {
        let both = |a: &ExprId, b: &ExprId| self.is_never_negative(*a) && self.is_never_negative(*b);
        match self.get(e) {
            Expr::Const(_) => self.as_int(e).is_some_and(|n| n >= 0),
            Expr::Axis(_) | Expr::Dim(_) => true,
            Expr::Binary(Binary::Add | Binary::Mul | Binary::Min, a, b) => both(a, b),
            Expr::Binary(Binary::Max, a, b) => self.is_never_negative(*a) || self.is_never_negative(*b),
            Expr::Binary(Binary::FloorDiv | Binary::FloorMod, a, b) => both(a, b),
            _ => false,
        }
    }

    /// Extents without those that change nothing of their product: `min(e, 1)`, as the rest of a peel has tiles, beside an `e`
    /// that is never negative.
    pub fn factors(&self, extents: &[ExprId]) -> Vec<ExprId> {
        let of = |extent: ExprId| match self.get(extent) {
            Expr::Binary(Binary::Min, of, one) if self.as_int(*one) == Some(1) && self.is_never_negative(*of) => Some(*of),
            _ => None,
        };
        extents.iter().copied().filter(|extent| !of(*extent).is_some_and(|of| extents.contains(&of))).collect()
    }
}
