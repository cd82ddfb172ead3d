//! Equality modulo 2^32. Data wraps at 32 bits, so sums and products of equal data are equal, even if they wrap, by
//! [`LOW_OF_SUM`](crate::expr::rules::LOW_OF_SUM) and [`LOW_OF_PRODUCT`](crate::expr::rules::LOW_OF_PRODUCT).

use crate::expr::{Binary, Expr, ExprId, Unary};
use crate::facts::Prover;
use crate::facts::context::Context;
use crate::facts::polynomials::atoms::Atom;
use crate::facts::polynomials::poly::Poly;

/// The depth up to which expressions are compared.
const MAX_DEPTH: u32 = 120;

/// A rank above the ranks of dims and axes.
const RANK: u32 = 64;

impl Prover<'_> {
    /// True if two expressions of one type are sums and products of the same operands, modulo 2^32.
    pub fn same_word(&self, a: ExprId, b: ExprId) -> bool {
        let mut context = self.context.borrow_mut();
        let exprs = &context.program.exprs;
        let is_data = |e: ExprId| exprs.dtype(e).is_int() && !exprs.is_index(e);
        if exprs.dtype(a) != exprs.dtype(b) || !is_data(a) || !is_data(b) {
            return false;
        }
        let words = context.word(a, MAX_DEPTH).zip(context.word(b, MAX_DEPTH));
        words.and_then(|(a, b)| a.sub(&b)).is_some_and(|rest| rest.is_zero())
    }
}

impl Context<'_> {
    /// Returns a polynomial that is equal to an expression modulo 2^32.
    fn word(&mut self, e: ExprId, depth: u32) -> Option<Poly> {
        let depth = depth.checked_sub(1)?;
        let exprs = &self.program.exprs;
        let is_word = |e: ExprId| exprs.dtype(e).is_word();
        match *exprs.get(e) {
            _ if !is_word(e) => None,
            Expr::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul), a, b) => {
                let (a, b) = (self.word(a, depth)?, self.word(b, depth)?);
                match op {
                    Binary::Add => a.add(&b),
                    Binary::Sub => a.sub(&b),
                    _ => a.mul(&b),
                }
            }
            Expr::Unary(Unary::Neg, a) => self.word(a, depth)?.neg(),
            Expr::Unary(Unary::Index, a) => self.word(a, depth),
            Expr::Cast(_, a) if is_word(a) => self.word(a, depth),
            _ => match self.poly(e) {
                Some(exact) => Some(exact),
                None => self.atom(Atom::Data { of: e, axis: None }, RANK),
            },
        }
    }
}
