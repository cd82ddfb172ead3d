//! What an expression is where some of its reads give 0: the question behind every filled copy and rounded-up tile.

use super::Program;
use crate::expr::{Binary, Expr, ExprId, Outside, Read, Unary};
use crate::launch::DType;

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known {
    /// It is this.
    Exactly(f64),
    /// It is neither an infinity nor NaN.
    Finite,
    /// Nothing.
    Nothing,
}

/// What is known of `expr` where the reads that `filled` names give 0.
pub fn at_fill(program: &Program, expr: ExprId, filled: &dyn Fn(&Read) -> bool) -> Known {
    known_by(program, expr, &|e| match program.exprs.get(e) {
        Expr::Read(read) if filled(read) => Some(Known::Exactly(0.0)),
        _ => None,
    })
}

/// What is known of `expr` by what `told` knows of its parts. Only rules that hold for every rounding are used; the sign
/// of a zero does not count.
pub fn known_by(program: &Program, expr: ExprId, told: &dyn Fn(ExprId) -> Option<Known>) -> Known {
    use Known::{Exactly, Finite, Nothing};
    if let Some(known) = told(expr) {
        return known;
    }
    let part = |e: ExprId| known_by(program, e, told);
    let dtype = program.exprs.dtype(expr);
    let opaque = if dtype.is_float() { Nothing } else { Finite };
    match program.exprs.get(expr) {
        Expr::Const(c) if c.value().is_nan() => Nothing,
        Expr::Const(c) => Exactly(c.value()),
        Expr::Read(read) if program.finite.contains(&read.buffer) => match &read.outside {
            Outside::Fill(fill, _) if matches!(part(*fill), Nothing) => Nothing,
            Outside::Fill(fill, _) if matches!(part(*fill), Exactly(v) if !v.is_finite()) => Nothing,
            _ => Finite,
        },
        Expr::Binary(op, a, b) => match (op, part(*a), part(*b)) {
            (Binary::Mul | Binary::MulHi, a, b) if is_zero_product(a, b) => Exactly(0.0),
            (Binary::Add, Exactly(0.0), other) | (Binary::Add | Binary::Sub, other, Exactly(0.0)) => other,
            (Binary::Div, Exactly(0.0), Exactly(x)) if dtype.is_float() && x != 0.0 && x.is_finite() => Exactly(0.0),
            (Binary::Max, Exactly(x), Exactly(y)) => Exactly(x.max(y)),
            (Binary::Min, Exactly(x), Exactly(y)) => Exactly(x.min(y)),
            _ => opaque,
        },
        Expr::Unary(op, a) => match (op, part(*a)) {
            (
                Unary::Neg | Unary::Abs | Unary::Sqrt | Unary::Sin | Unary::Tan | Unary::Tanh | Unary::Floor | Unary::Ceil,
                Exactly(0.0),
            ) => Exactly(0.0),
            (Unary::Erf | Unary::CountOnes, Exactly(0.0)) => Exactly(0.0),
            (Unary::Neg, Exactly(x)) if dtype.is_float() => Exactly(-x),
            (Unary::Abs, Exactly(x)) if dtype.is_float() => Exactly(x.abs()),
            _ => opaque,
        },
        Expr::Cast(to, a) => match part(*a) {
            Exactly(0.0) => Exactly(0.0),
            // Every value of the narrower floats is one of f32.
            known if *to == DType::F32 && program.exprs.dtype(*a).is_float() => known,
            _ => opaque,
        },
        Expr::Select(_, a, b) => match (part(*a), part(*b)) {
            (a, b) if a == b => a,
            _ => opaque,
        },
        Expr::MulAdd(a, b, c) if is_zero_product(part(*a), part(*b)) => part(*c),
        _ => opaque,
    }
}

/// Whether a product is 0: 0 times infinity is not.
fn is_zero_product(a: Known, b: Known) -> bool {
    let is_finite = |known| known == Known::Finite || matches!(known, Known::Exactly(x) if x.is_finite());
    let is_zero = |known| known == Known::Exactly(0.0);
    is_zero(a) && is_finite(b) || is_zero(b) && is_finite(a)
}
