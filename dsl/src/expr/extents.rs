//! Facts about extents that need no proof, because extents consist of dims and axes, which are never negative.

use super::{Binary, Expr, ExprId, Exprs};

impl Exprs {
    /// True if an extent is never negative, even if an axis that it names is past its end.
    pub fn is_never_negative(&self, e: ExprId) -> bool {
        if !self.is_walkable(e) {
            return false;
        }
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
}
