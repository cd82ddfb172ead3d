//! Signs of products and quotients of extents. The prover derives few of them. Because they are not negative, a sum of them is at least
//! each of its terms.

use super::context::Checks;
use crate::expr::{Binary, Expr, ExprId};
use tilewright_launch::Relation;

impl Checks<'_> {
    /// True if an expression is not negative: the prover knows it, the launch checks exactly this expression, or its operands are not
    /// negative.
    pub(super) fn not_negative(&self, e: ExprId) -> bool {
        let exprs = &self.program.exprs;
        let positive = |e: ExprId| exprs.as_int(e).is_some_and(|n| n > 0);
        let checked = || {
            let at_least = |e: ExprId| exprs.as_int(e).is_some_and(|n| n >= 0);
            self.program.checks.conditions.iter().any(|c| c.left == e && c.relation == Relation::Ge && at_least(c.right))
        };
        let parts = match exprs.get(e) {
            _ if !exprs.is_walkable(e) => false,
            Expr::Binary(Binary::FloorMod, _, b) => positive(*b),
            Expr::Binary(Binary::FloorDiv, a, b) => positive(*b) && self.not_negative(*a),
            Expr::Binary(Binary::Add | Binary::Mul | Binary::Min, a, b) => self.not_negative(*a) && self.not_negative(*b),
            _ => false,
        };
        parts || checked() || self.provers.roots.nonneg(e)
    }

    /// True if `sum` is `term` plus terms that are not negative.
    pub(super) fn has_term(&self, sum: ExprId, term: ExprId) -> bool {
        sum == term
            || match self.program.exprs.get(sum) {
                _ if !self.program.exprs.is_walkable(sum) => false,
                Expr::Binary(Binary::Add, a, b) => {
                    (self.has_term(*a, term) && self.not_negative(*b)) || (self.has_term(*b, term) && self.not_negative(*a))
                }
                _ => false,
            }
    }
}
