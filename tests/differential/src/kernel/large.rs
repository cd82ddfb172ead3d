//! Indices whose terms exceed 2^31 at the sizes of a large launch: products of axes, cubes of dims, large steps.

use super::builder::{Builder, Value};
use super::tree::{Expr, Type};

impl Builder<'_> {
    /// Generates an index with a large term, sometimes, in a large kernel.
    pub(super) fn maybe_large(&mut self, share: u8) -> Option<Expr> {
        (self.large && self.percent(share)).then(|| self.large_index())
    }

    /// Generates a large term, or one that a quotient, a remainder, or another term makes small again.
    fn large_index(&mut self) -> Expr {
        let term = self.large_term();
        let extent = self.axis().map(|axis| axis.within);
        let literal = Expr::int(self.pick(&[3, 7, 1000, 4096, 65_537, 1_000_003]));
        match (self.random.u8(..10), extent) {
            (0..=1, Some(extent)) => term.infix("/", extent),
            (2..=3, Some(extent)) => term.infix("%", extent),
            (4, _) => term.infix("/", literal),
            (5, _) => term.infix("%", literal),
            (6, _) => {
                let other = self.large_term();
                term.infix("-", other)
            }
            (7, _) => {
                let other = self.large_term();
                let op = self.pick(&["min", "max"]);
                term.method(op, [other])
            }
            _ => term,
        }
    }

    /// Generates a product of axes, dims and a literal.
    fn large_term(&mut self) -> Expr {
        let axis = |b: &mut Self| b.axis().map_or(Expr::int(5), |axis| Expr::name(axis.name));
        let size = |b: &mut Self| b.axis().map_or(Expr::int(2_001), |axis| axis.within);
        let literal = Expr::int(self.pick(&[999, 65_536, 65_537, 1_000_003, 2_000_003, 16_777_216]));
        let (a, b) = (axis(self), axis(self));
        let product = match self.random.u8(..8) {
            0 => a.infix("*", b),
            1 => a.clone().infix("*", a.clone()).infix("*", a),
            2 => a.infix("*", size(self)),
            3 => a.infix("*", size(self)).infix("*", size(self)),
            4 => {
                let n = size(self);
                n.clone().infix("*", n.clone()).infix("*", n)
            }
            5 => a.infix("*", literal),
            6 => a.infix("*", b).infix("*", literal),
            _ => a.infix("*", literal).infix("-", b),
        };
        let by = Expr::int(self.random.i64(-9..=9));
        if self.percent(40) { product.infix("+", by) } else { product }
    }

    /// Generates a comparison of two large terms, or of a large term with a literal.
    pub(super) fn large_comparison(&mut self, compare: &'static str) -> Expr {
        let a = self.large_index();
        let b = match self.percent(50) {
            true => self.large_index(),
            false => Expr::int(self.pick(&[0, 1_000_000, i64::from(i32::MAX)])),
        };
        a.compare(compare, b)
    }

    /// Generates a large index as data of an integer type: its low 32 bits.
    pub(super) fn large_integer(&mut self, ty: Type) -> Expr {
        let index = self.large_index();
        if self.percent(50) || ty != index.ty { index.cast(ty) } else { index }
    }

    /// Generates an exact float from a large index.
    pub(super) fn large_float(&mut self, ty: Type) -> Value {
        let index = self.large_index().infix("%", Expr::int(16));
        Value::new(index.cast(ty), 16.0, true)
    }
}
