//! Powers of floats with exponents that are floats.

use super::bits_of;
use super::exponentials::scaled_by;
use super::formula::{Formula, INFINITY, Operand, Part};
use super::logarithms::{Split, normal};
use super::rounding::halves;

/// The coefficients of `p` in `ln(m) = 2 s + s z p(z)`, as for logarithms. The relative error is 2^-35.
const LOG: [f32; 4] = [0.666_666_627, 0.400_009_722, 0.284_987_926, 0.242_788_568];

/// The coefficients of `p` in `exp2(r) = 1 + r p(r)` for `r` up to 1/2. The relative error is 2^-26.
const EXP2: [f32; 6] = [0.693_147_182, 0.240_225_941, 0.055_503_663, 0.009_625_445, 0.001_338_831_5, 0.000_133_234_877];

/// Returns `x` to the power `y` as `exp2(y log2(|x|))`. The logarithm has about 30 bits, because the exponential multiplies its error
/// by up to 88.
pub(super) fn powf(f: &mut Formula, of: &[Part]) -> Part {
    let (x, y) = (f.operand(of[0]), f.operand(of[1]));
    let power = magnitude(f, x, y);
    // If the base is 0 or infinite, or the exponent is infinite, the power is 0 or infinite. The sign of the exponent and a
    // comparison of the base with 1 determine which of the two.
    let (is_above, is_to_minus) = (f.above(x.size, bits_of(1.0)), f.is_negative(y));
    let falls = f.agree(is_above, is_to_minus);
    let (zero, one, infinity) = (f.number(0.0), f.number(1.0), f.number(f64::INFINITY));
    let end = f.select(falls, zero, infinity);
    let of_ends = [(x, 0), (x, INFINITY), (y, INFINITY)].map(|(operand, bits)| f.equal(operand.size, bits));
    let (is_of_zero, is_of_infinity, is_to_infinity) = (of_ends[0], of_ends[1], of_ends[2]);
    let is_end = f.either(is_of_zero, is_of_infinity);
    let is_end = f.either(is_end, is_to_infinity);
    let power = f.select(is_end, end, power);
    let is_of_one = f.equal(x.size, bits_of(1.0));
    let power = f.select(is_of_one, one, power);
    // The power of a negative base is negative if the exponent is odd, and NaN if the exponent is not an integer.
    let [is_whole, odd] = parity(f, y);
    let sign = f.sign(x);
    let none = f.word(0);
    let is_odd = f.equal(odd, 1);
    let sign = f.select(is_odd, sign, none);
    let power = f.signed(power, sign);
    let (is_negative, is_fraction, is_plain) = (f.is_negative(x), f.not(is_whole), f.not(is_end));
    let is_undefined = f.both(is_negative, is_fraction);
    let is_undefined = f.both(is_undefined, is_plain);
    let power = f.nan_if(is_undefined, power);
    let power = f.unless_nan(x, power);
    let power = f.unless_nan(y, power);
    // If the base is 1 or the exponent is 0, the power is 1, even if the other operand is NaN.
    let (of_one, to_zero) = (f.equal(x.bits, bits_of(1.0)), f.equal(y.size, 0));
    let is_one = f.either(of_one, to_zero);
    f.select(is_one, one, power)
}

/// Returns whether a float is an integer, and the lowest bit of that integer. Numbers from 2^24 on are even.
fn parity(f: &mut Formula, y: Operand) -> [Part; 2] {
    let most = f.number(2f64.powi(24));
    let inside = f.min(y.magnitude, most);
    let whole = f.trunc(inside);
    let (bits, whole_bits) = (f.bits(inside), f.bits(whole));
    let is_whole = f.same_bits(bits, whole_bits);
    let integer = f.integer(whole);
    let lowest = f.and(integer, 1);
    let zero = f.word(0);
    [is_whole, f.select(is_whole, lowest, zero)]
}

/// The power of the absolute value of `x`, which must not be 0 or infinite.
fn magnitude(f: &mut Formula, x: Operand, y: Operand) -> Part {
    let [upper, lower] = precise_log2(f, x);
    // Clamped, because a larger exponent has the same result: 0, 1 or infinity.
    let most = f.number(2f64.powi(31));
    let y_size = f.min(y.magnitude, most);
    let sign = f.sign(y);
    let exponent = f.signed(y_size, sign);
    let [y_upper, y_lower] = halves(f, exponent);
    let product = f.mul(y_upper, upper);
    let rest = f.mul(y_lower, upper);
    let more = f.mul(exponent, lower);
    let rest = f.add(rest, more);
    let (least, most) = (f.number(-160.0), f.number(160.0));
    let sum = f.add(product, rest);
    let end = f.min(sum, most);
    let end = f.max(end, least);
    let half = f.number(0.5);
    let count = f.add(end, half);
    let count = f.floor(count);
    let fraction = f.sub(product, count);
    let fraction = f.add(fraction, rest);
    // Clamped, because outside of the exponent's range the difference need not be a fraction.
    let (high, low) = (f.number(0.51), f.number(-0.51));
    let fraction = f.min(fraction, high);
    let fraction = f.max(fraction, low);
    let (p, one) = (f.polynomial(&EXP2, fraction), f.number(1.0));
    let mantissa = f.mul_add(fraction, p, one);
    let exponent = f.integer(count);
    scaled_by(f, mantissa, exponent)
}

/// The logarithm to the base 2 as a sum. The first term has 12 bits.
///
/// `s = (m - 1) / (m + 1)` is computed as a sum of two parts. The second part is computed from the remainder of the division. All
/// products of first parts are exact, because these have 12 bits.
fn precise_log2(f: &mut Formula, x: Operand) -> [Part; 2] {
    let (scaled, less) = normal(f, x);
    let Split { rest, exponent } = Split::of(f, scaled);
    let exponent = f.add(exponent, less);
    let two = f.number(2.0);
    let divisor = f.add(rest, two);
    let quotient = f.div(rest, divisor);
    let [s, _] = halves(f, quotient);
    let [d, _] = halves(f, divisor);
    // The lower half of the divisor, exactly.
    let beyond = f.sub(d, two);
    let beyond = f.sub(rest, beyond);
    let (whole, part) = (f.mul(s, d), f.mul(s, beyond));
    let left = f.sub(rest, whole);
    let left = f.sub(left, part);
    let t = f.div(left, divisor);
    // ln(m) = 2 (s + t) + quotient z p(z), times the base's 1 / ln 2 in two parts.
    let z = f.mul(quotient, quotient);
    let p = f.polynomial(&LOG, z);
    let p = f.mul(z, p);
    let curve = f.mul(quotient, p);
    let twice = f.add(t, t);
    let small = f.add(curve, twice);
    let [per, per_rest] = [2.884_765_625, 0.000_624_456_777_926_8].map(|per| f.number(per));
    let half_per = f.number(std::f64::consts::LOG2_E);
    let large = f.mul(s, per);
    let tail = f.mul(s, per_rest);
    let tail = f.mul_add(small, half_per, tail);
    // The sum of the exponent, the large part and the tail: 12 bits, and the remainder.
    let sum = f.add(exponent, large);
    let lost = f.sub(sum, exponent);
    let lost = f.sub(large, lost);
    let tail = f.add(tail, lost);
    let total = f.add(sum, tail);
    let [upper, _] = halves(f, total);
    let rest = f.sub(sum, upper);
    [upper, f.add(rest, tail)]
}
