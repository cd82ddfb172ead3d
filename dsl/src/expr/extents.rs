//! Facts about extents that need no proof, because extents consist of dims and axes, which are never negative.

use super::rules::{SIGNS, Term};
use super::{Expr, ExprId, Exprs};

impl Exprs {
    /// True if an extent is never negative, even if an axis that it names is past its end.
    pub fn is_never_negative(&self, e: ExprId) -> bool {
        if !self.is_walkable(e) {
            return false;
        }
        match self.get(e) {
            Expr::Const(_) => self.as_int(e).is_some_and(|n| n >= 0),
            Expr::Axis(_) | Expr::Dim(_) => true,
            Expr::Binary(op, a, b) => {
                let is_known = |of: &Term| matches!(of, Term::Var(n) if self.is_never_negative([*a, *b][*n]));
                let mut rules = SIGNS.iter().filter(|rule| rule.operation() == Some(*op));
                rules.any(|rule| rule.when.iter().all(|condition| is_known(&condition.left)))
            }
            _ => false,
        }
    }
}
