//! Rounding to integers and to halves.

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

/// Splits a number into a sum of its upper 12 bits and the others. Products of such halves are exact.
pub(super) fn halves(f: &mut Formula, x: Part) -> [Part; 2] {
    let bits = f.bits(x);
    let bits = f.and(bits, 0xffff_f000);
    let upper = f.float(bits);
    let lower = f.sub(x, upper);
    [upper, lower]
}

/// The nearest number that f16 has, as an f32. Ties go to the even one, and NaN stays NaN.
pub(super) fn nearest_half(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    // From 2^-14 on, 13 bits of the mantissa are rounded away. A result of 2^16 or more is infinite.
    let unit = f.shifted_down(x.size, 13);
    let odd = f.and(unit, 1);
    let most = f.word(0xfff);
    let up = f.plus(odd, most);
    let near = f.plus(x.size, up);
    let near = f.and(near, 0xffff_e000);
    let (is_infinite, infinite) = (f.above(near, 0x477f_ffff), f.word(INFINITY));
    let normal = f.select(is_infinite, infinite, near);
    let small = multiple_of_the_least(f, x.size);
    let is_normal = f.above(x.size, bits_of(2f64.powi(-14)) - 1);
    let number = f.select(is_normal, normal, small);
    // A quiet NaN, because the conversion keeps only the upper bits.
    let (is_nan, quiet) = (f.above(x.size, INFINITY), f.word(0x0040_0000));
    let nan = f.or(x.size, quiet);
    let size = f.select(is_nan, nan, number);
    let sign = f.sign(x);
    let bits = f.or(size, sign);
    f.float(bits)
}

/// The nearest number that bfloat16 has, as an f32. Ties go to the even one, and NaN stays NaN.
pub(super) fn nearest_bfloat(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let unit = f.shifted_down(x.size, 16);
    let odd = f.and(unit, 1);
    let most = f.word(0x7fff);
    let up = f.plus(odd, most);
    // The carry of a number above the greatest one makes an infinity.
    let number = f.plus(x.size, up);
    // A quiet NaN, because the bits that are dropped may be the only ones.
    let (is_nan, quiet) = (f.above(x.size, INFINITY), f.word(0x0040_0000));
    let nan = f.or(x.size, quiet);
    let size = f.select(is_nan, nan, number);
    let size = f.and(size, 0xffff_0000);
    let sign = f.sign(x);
    let bits = f.or(size, sign);
    f.float(bits)
}

/// The bits of the nearest multiple of 2^-24. Below 2^-14, these multiples are the numbers of f16.
fn multiple_of_the_least(f: &mut Formula, size: Part) -> Part {
    let exponent = f.shifted_down(size, 23);
    let mantissa = f.and(size, 0x007f_ffff);
    let hidden = f.word(0x0080_0000);
    let mantissa = f.or(mantissa, hidden);
    // The number of bits between 2^-24 and the unit of the mantissa. It is clamped, so that no shift exceeds 31 bits for any operand.
    let exponent = f.at_most(exponent, 112);
    let above = f.word(126);
    let shift = f.minus(above, exponent);
    let shift = f.at_most(shift, 31);
    let one = f.word(1);
    let below = f.minus(shift, one);
    let tie = f.shifted_up_by(one, below);
    let rest = f.minus(tie, one);
    let unit = f.shifted_down_by(mantissa, shift);
    let odd = f.and(unit, 1);
    let up = f.plus(rest, odd);
    let sum = f.plus(mantissa, up);
    let count = f.shifted_down_by(sum, shift);
    let (count, least) = (f.of_integer(count), f.number(2f64.powi(-24)));
    let multiple = f.mul(count, least);
    f.bits(multiple)
}
