//! Rounding, and remainders.

use super::bits_of;
use super::formula::{Formula, INFINITY, Part};

/// The nearest integer. Ties are rounded away from 0, which the instruction does not guarantee.
pub(super) fn round(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (whole, half) = (f.trunc(x.magnitude), f.number(0.5));
    let rest = f.sub(x.magnitude, whole);
    let (one, zero) = (f.number(1.0), f.number(0.0));
    let is_below = f.less(rest, half);
    let more = f.select(is_below, zero, one);
    let rounded = f.add(whole, more);
    let sign = f.sign(x);
    let rounded = f.signed(rounded, sign);
    // Larger numbers are integers already. Infinities and NaN are returned unchanged.
    let is_whole = f.above(x.size, bits_of(8_388_607.5));
    f.select(is_whole, x.itself, rounded)
}

/// The remainder of a division that truncates, with the sign of the dividend. It is exact for quotients below 2^20.
///
/// The product of the quotient and the divisor is subtracted in four exact parts. The quotient is rounded to the nearest integer. So
/// the absolute difference is below the divisor even if the division is imprecise, and the difference is exact.
pub(super) fn remainder(f: &mut Formula, of: &[Part]) -> Part {
    let (x, y) = (f.operand(of[0]), f.operand(of[1]));
    let (zero, one) = (f.number(0.0), f.number(1.0));
    // The operands are scaled, because a division by more than 2^126 has an unknown error, and devices may flush parts of small
    // numbers.
    let (is_large, is_small) = (f.above(y.size, bits_of(2f64.powi(60))), f.above(y.size, bits_of(2f64.powi(-60))));
    let (down, up) = (f.number(2f64.powi(-60)), f.number(2f64.powi(60)));
    let (scale, back) = (f.select(is_small, one, up), f.select(is_small, one, down));
    let (scale, back) = (f.select(is_large, down, scale), f.select(is_large, up, back));
    let (a, b) = (f.mul(x.magnitude, scale), f.mul(y.magnitude, scale));
    let (quotient, half, most) = (f.div(a, b), f.number(0.5), f.number(2f64.powi(22)));
    let quotient = f.add(quotient, half);
    let quotient = f.floor(quotient);
    let quotient = f.min(quotient, most);
    let ([q, p], [d, e]) = (halves(f, quotient), halves(f, b));
    let mut rest = a;
    for (m, n) in [(q, d), (q, e), (p, d), (p, e)] {
        let part = f.mul(m, n);
        rest = f.sub(rest, part);
    }
    let (is_below, more) = (f.less(rest, zero), f.add(rest, b));
    let rest = f.select(is_below, more, rest);
    // If the quotient is too large, the result is unspecified, but still below the divisor.
    let (is_below, is_inside) = (f.less(rest, zero), f.less(rest, b));
    let rest = f.select(is_below, zero, rest);
    let rest = f.select(is_inside, rest, zero);
    let rest = f.mul(rest, back);
    let is_less = f.greater(y.size, x.size);
    let rest = f.select(is_less, x.magnitude, rest);
    let sign = f.sign(x);
    let rest = f.signed(rest, sign);
    let (by_zero, of_infinity) = (f.equal(y.size, 0), f.equal(x.size, INFINITY));
    let is_undefined = f.either(by_zero, of_infinity);
    let rest = f.nan_if(is_undefined, rest);
    let rest = f.unless_nan(y, rest);
    f.unless_nan(x, rest)
}

/// Splits a number into a sum of its upper 12 bits and the others. Products of such halves are exact.
pub(super) fn halves(f: &mut Formula, x: Part) -> [Part; 2] {
    let bits = f.bits(x);
    let bits = f.and(bits, 0xffff_f000);
    let upper = f.float(bits);
    let lower = f.sub(x, upper);
    [upper, lower]
}
