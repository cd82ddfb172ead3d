//! Computes the possible values of an expression when some of its reads give 0 or another given value. Filled copies and
//! rounded-up tiles depend on it.

use super::Program;
pub use super::known::Known;
use crate::expr::{Binary, Compare, Expr, ExprId, Outside, Read, Unary};
use crate::launch::{DType, MOST};
use crate::table::Map;

/// Returns the possible values of `expr` if the reads for which `filled` is true give 0. Reads within an index keep an element, because proofs
/// hold for elements.
pub fn at_fill(program: &Program, expr: ExprId, filled: &dyn Fn(&Read) -> bool) -> Known {
    known_by(program, expr, &|e| match program.exprs.get(e) {
        Expr::Read(read) if filled(read) => Some(Known::exactly(0.0)),
        Expr::Unary(Unary::Index, _) => Some(Known::any(program.exprs.dtype(e))),
        _ => None,
    })
}

/// Returns the possible values of `expr`, if `told` gives the values of some of its parts.
pub fn known_by(program: &Program, expr: ExprId, told: &dyn Fn(ExprId) -> Option<Known>) -> Known {
    known_once(program, expr, told, &mut Map::default())
}

/// Does the same as [`known_by`], and looks known parts up in `done`.
fn known_once(program: &Program, expr: ExprId, told: &dyn Fn(ExprId) -> Option<Known>, done: &mut Map<ExprId, Known>) -> Known {
    if let Some(known) = done.get(&expr) {
        return *known;
    }
    let known = told(expr).unwrap_or_else(|| by_parts(program, expr, &mut |e| known_once(program, e, told, done)));
    done.insert(expr, known);
    known
}

/// Derives the values of `expr` from the values of its parts.
fn by_parts(program: &Program, expr: ExprId, part: &mut dyn FnMut(ExprId) -> Known) -> Known {
    let dtype = program.exprs.dtype(expr);
    match program.exprs.get(expr) {
        Expr::Const(c) => Known::exactly(c.value()).flushed(dtype),
        Expr::Dim(_) => Known::within(0.0, MOST as f64),
        Expr::Scalar(scalar) => program.known_of_scalar(*scalar),
        Expr::Read(read) if program.checks.finite.contains(&read.buffer) => match &read.outside {
            Outside::Fill(fill, _) => part(*fill).or(Known::finite(dtype)),
            _ => Known::finite(dtype),
        },
        Expr::Binary(op, a, b) => binary(*op, part(*a), part(*b), dtype),
        Expr::Unary(op, a) => unary(*op, part(*a), dtype),
        Expr::Cast(to, a) => cast(*to, part(*a), program.exprs.dtype(*a)),
        Expr::Select(cond, a, b) => {
            let mut other = part(*b);
            // `if x.is_nan() { x } else { b }` is `b` or NaN.
            if let Expr::Unary(Unary::IsNan, x) = program.exprs.get(*cond)
                && x == a
            {
                return if part(*x).can_be_nan() { other.or(Known::exactly(f64::NAN)) } else { other };
            }
            // `if x == -inf { a } else { x }` is not -inf if `a` is not.
            if let Expr::Compare(Compare::Eq, x, c) = program.exprs.get(*cond)
                && x == b
                && let Some(value) = part(*c).value()
            {
                other = other.except(value);
            }
            part(*a).or(other)
        }
        Expr::MulAdd(a, b, c) => part(*a).times_plus(part(*b), part(*c), dtype),
        _ => Known::any(dtype),
    }
}

/// True if both have the same single value.
pub fn is_same(a: Known, b: Known) -> bool {
    a.value().is_some() && a.value() == b.value()
}

fn binary(op: Binary, a: Known, b: Known, dtype: DType) -> Known {
    match op {
        Binary::Add if a.is(0.0) || b.is(0.0) => a.plus(b),
        Binary::Add => a.plus(b).rounded(dtype),
        Binary::Sub if b.is(0.0) => a,
        Binary::Sub => a.plus(b.negative()).rounded(dtype),
        Binary::Mul => a.times(b).rounded(dtype),
        Binary::MulHi if a.is(0.0) || b.is(0.0) => Known::exactly(0.0),
        Binary::Div if dtype.is_float() => a.over(b, dtype),
        Binary::Max => a.extreme(b, true),
        Binary::Min => a.extreme(b, false),
        _ => Known::any(dtype),
    }
}

fn unary(op: Unary, a: Known, dtype: DType) -> Known {
    match op {
        Unary::Neg if dtype.is_float() => a.negative(),
        Unary::Abs if dtype.is_float() => a.magnitude(),
        Unary::Exp | Unary::Exp2 => a.exponential(dtype),
        Unary::Sqrt => a.root(dtype),
        Unary::InverseSqrt => Known::exactly(1.0).over(a.root(dtype), dtype),
        _ if a.is(0.0) && op.keeps_zero(dtype) => a,
        _ => Known::any(dtype),
    }
}

fn cast(to: DType, a: Known, from: DType) -> Known {
    match (a.is(0.0), from.is_float(), to.is_float()) {
        (true, ..) => Known::exactly(0.0),
        // Every value of the narrower float types is also a value of f32.
        (_, true, true) if to == DType::F32 => a,
        (_, _, true) => a.rounded(to),
        _ => Known::any(to),
    }
}
