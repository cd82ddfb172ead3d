//! Operations on bits that depend on the number of bits of their type. Expressions have them for 32 bits only, so the operations of narrower
//! integers are composed here: shifts and rotations count modulo the type's bits, and counts of zeros begin at its highest bit.

use crate::expr::{Binary, Const, Expr, ExprId, Exprs, Unary};
use tilewright_launch::DType;

/// Returns a literal of an integer type.
fn number(exprs: &Exprs, dtype: DType, n: u32) -> ExprId {
    exprs.constant(Const { dtype, bits: n })
}

/// Returns the count of a shift of a value of the count's type. Shifts of 32 bits take their count modulo 32 themselves.
pub(super) fn count(exprs: &Exprs, count: ExprId) -> ExprId {
    let dtype = exprs.dtype(count);
    if dtype.bits() >= 32 {
        return count;
    }
    modulo(exprs, count, dtype, dtype.bits())
}

/// Returns an integer of a type modulo a power of two.
fn modulo(exprs: &Exprs, n: ExprId, dtype: DType, power: u32) -> ExprId {
    match exprs.get(n) {
        Expr::Const(c) => number(exprs, dtype, c.bits % power),
        _ => exprs.binary(Binary::And, n, number(exprs, dtype, power - 1)),
    }
}

/// Returns the bits of an integer as a `u32`, with zeros above them.
fn bits_of(exprs: &Exprs, x: ExprId) -> ExprId {
    let dtype = exprs.dtype(x);
    let wide = exprs.cast(DType::U32, x);
    if dtype.bits() >= 32 || !dtype.is_signed_int() {
        return wide;
    }
    exprs.binary(Binary::And, wide, number(exprs, DType::U32, (1 << dtype.bits()) - 1))
}

/// Returns a count of an integer's bits. Above the bits of a narrow type there are further zeros, which are not counted. A 1 above them
/// ends the count of the trailing zeros of 0.
pub(super) fn of_bits(exprs: &Exprs, op: Unary, x: ExprId) -> ExprId {
    let (own, bits) = (exprs.dtype(x).bits(), bits_of(exprs, x));
    let word = |n: u32| number(exprs, DType::U32, n);
    match op {
        Unary::LeadingZeros if own < 32 => exprs.difference(exprs.unary(op, bits), word(32 - own)),
        Unary::TrailingZeros if own < 32 => exprs.unary(op, exprs.binary(Binary::Or, bits, word(1 << own))),
        _ => exprs.unary(op, bits),
    }
}

/// Returns the upper half of a product's bits. The product of narrow integers fits in 32 bits.
pub(super) fn high_product(exprs: &Exprs, a: ExprId, b: ExprId) -> ExprId {
    let dtype = exprs.dtype(a);
    if dtype.bits() >= 32 {
        return exprs.binary(Binary::MulHi, a, b);
    }
    let wide = if dtype.is_signed_int() { DType::I32 } else { DType::U32 };
    let product = exprs.product(exprs.cast(wide, a), exprs.cast(wide, b));
    exprs.cast(dtype, exprs.binary(Binary::Shr, product, number(exprs, wide, dtype.bits())))
}

/// Returns an integer whose bits are rotated by `n`, a `u32`: two shifts, whose counts are taken modulo the number of bits.
pub(super) fn rotated(exprs: &Exprs, x: ExprId, n: ExprId, left: bool) -> ExprId {
    let dtype = exprs.dtype(x);
    let (own, bits) = (dtype.bits(), bits_of(exprs, x));
    let word = |n: u32| number(exprs, DType::U32, n);
    let back = match exprs.get(n) {
        Expr::Const(n) => word(n.bits.wrapping_neg() % own),
        _ => exprs.difference(word(0), n),
    };
    let (up, down) = if left { (n, back) } else { (back, n) };
    // A shift of 32 bits takes its count modulo 32 itself.
    let [up, down] = [up, down].map(|n| if own < 32 { modulo(exprs, n, DType::U32, own) } else { n });
    let (high, low) = (exprs.binary(Binary::Shl, bits, up), exprs.binary(Binary::Shr, bits, down));
    exprs.cast(dtype, exprs.binary(Binary::Or, high, low))
}
