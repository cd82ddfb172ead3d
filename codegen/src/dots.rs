//! Dot products: the item of an update in a loop of [`Exec::Dot`](tilewright_dsl::nest::Exec::Dot).

use crate::values::{Op, ValueId};
use crate::{Resolver, Result};
use tilewright_dsl::expr::{Binary, Const, Expr, ExprId};

impl Resolver<'_> {
    /// True if the loop around is a dot product.
    pub fn in_dot(&self) -> bool {
        self.in_dot
    }

    /// Returns the sum of an item over the lanes of the dot product. Lanes in which the item does not count are 0 in one factor.
    pub fn dot(&mut self, item: ExprId, counts: ValueId) -> Result<ValueId> {
        let exprs = &self.program.exprs;
        let Expr::Binary(Binary::Mul, a, b) = *exprs.get(item) else {
            return Err(self.defect("the item of a dot product is not a product"));
        };
        let (a, b, sum) = (exprs.widened(a), exprs.widened(b), exprs.dtype(item));
        let factors = [exprs.dtype(a), exprs.dtype(b)];
        let (a, b, lanes) = (self.resolve(a)?, self.resolve(b)?, self.lane_count());
        let zero = self.values.constant(Const::number(0.0, factors[0]));
        let a = self.choose(counts, a, zero);
        let (a, b) = (self.values.widen(a, lanes), self.values.widen(b, lanes));
        Ok(self.values.op(Op::Dot { factors, sum }, [a, b].into_iter().collect()))
    }
}
