//! Tangents and the inverses of the trigonometric functions.

use super::bits_of;
use super::formula::{Formula, INFINITY, Operand, Part, SIGN};
use super::logarithms::root;

/// The coefficients of `p` in `tan(r) = r + r z p(z)`, where `z = r r`, for `r` up to a quarter of pi. The relative error is 2^-29.
const TAN: [f32; 7] =
    [0.333_333_492, 0.133_326_739, 0.054_059_178, 0.021_284_511, 0.010_832_477, 0.000_091_231_62, 0.004_376_412_4];

/// The coefficients of `p` in `asin(x) = x + x z p(z)`, where `z = x x`, for `x` up to 1/2. The relative error is 2^-27.
const ASIN: [f32; 5] = [0.166_667_521, 0.074_953_094, 0.045_469_154, 0.024_184_741, 0.042_158_4];

/// The coefficients of `p` in `atan(x) = x + x z p(z)`, where `z = x x`, for `x` up to 1. The relative error is 2^-28.
const ATAN: [f32; 9] = [
    -0.333_332_986,
    0.199_985_296,
    -0.142_640_159,
    0.109_508_775,
    -0.083_992_638,
    0.057_879_627,
    -0.031_093_804,
    0.010_866_041,
    -0.001_781_990_4,
];

/// Half of pi as a sum. The first three terms have 11 bits each, so that their products with the quarters of numbers up to 8192 are
/// exact.
const HALF_PI: [f64; 4] = [1.570_312_5, 4.837_512_969_970_703e-4, 7.549_533_620_476_723e-8, 2.563_344_151_594_519e-12];

/// Half of pi and pi, each as the sum of the nearest `f32` and a remainder.
const QUARTER: [f64; 2] = [1.570_796_370_506_286_6, -4.371_138_828_673_793e-8];
const HALF: [f64; 2] = [3.141_592_741_012_573_2, -8.742_277_657_347_586e-8];

/// The tangent of a number up to 8192. For larger numbers the result is unspecified.
pub(super) fn tan(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (per, half, two) = (f.number(std::f64::consts::FRAC_2_PI), f.number(0.5), f.number(2.0));
    let quarters = f.mul_add(x.magnitude, per, half);
    let quarters = f.floor(quarters);
    let rest = HALF_PI.into_iter().fold(x.magnitude, |rest, part| {
        let part = f.number(part);
        let product = f.mul(quarters, part);
        f.sub(rest, product)
    });
    let (end, start) = (f.number(0.8), f.number(-0.8));
    let rest = f.min(rest, end);
    let rest = f.max(rest, start);
    let square = f.mul(rest, rest);
    let tangent = f.odd(&TAN, rest, square);
    // In odd quarters, the tangent is the negative inverse of the ratio. The divisor is not 0, because 0 is the only float that is a
    // multiple of half of pi.
    let pairs = f.mul(quarters, half);
    let pairs = f.floor(pairs);
    let pairs = f.mul(pairs, two);
    let odd = f.sub(quarters, pairs);
    let is_odd = f.less(half, odd);
    let minus = f.number(-1.0);
    let cotangent = f.div(minus, tangent);
    let result = f.select(is_odd, cotangent, tangent);
    let (bits, sign) = (f.bits(result), f.sign(x));
    let bits = f.xor(bits, sign);
    let result = f.float(bits);
    let is_infinite = f.equal(x.size, INFINITY);
    let result = f.nan_if(is_infinite, result);
    f.unless_nan(x, result)
}

/// Returns `2 asin(sqrt((1 - x) / 2))`, which both inverses use near 1.
fn near_one(f: &mut Formula, x: Operand) -> Part {
    let (one, half) = (f.number(1.0), f.number(0.5));
    let rest = f.sub(one, x.magnitude);
    let square = f.mul(rest, half);
    let root = root(f, square);
    let arc = f.odd(&ASIN, root, square);
    f.add(arc, arc)
}

/// Subtracts a number from a constant that is given as a sum of two parts.
fn less(f: &mut Formula, [whole, lacks]: [f64; 2], x: Part) -> Part {
    let (whole, lacks) = (f.number(whole), f.number(lacks));
    let rest = f.sub(x, lacks);
    f.sub(whole, rest)
}

/// The inverse sine. It is NaN if the operand is above 1 or below -1.
pub(super) fn asin(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let square = f.mul(x.magnitude, x.magnitude);
    let small = f.odd(&ASIN, x.magnitude, square);
    let arc = near_one(f, x);
    let large = less(f, QUARTER, arc);
    let is_large = f.above(x.size, bits_of(0.5));
    let result = f.select(is_large, large, small);
    let is_outside = f.above(x.size, bits_of(1.0));
    let result = f.nan_if(is_outside, result);
    f.of_odd(x, result)
}

/// The inverse cosine. It is NaN if the operand is above 1 or below -1.
pub(super) fn acos(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let square = f.mul(x.magnitude, x.magnitude);
    let small = f.odd(&ASIN, x.itself, square);
    let small = less(f, QUARTER, small);
    let above = near_one(f, x);
    let below = less(f, HALF, above);
    let is_negative = f.is_negative(x);
    let large = f.select(is_negative, below, above);
    let is_large = f.above(x.size, bits_of(0.5));
    let result = f.select(is_large, large, small);
    let is_outside = f.above(x.size, bits_of(1.0));
    let result = f.nan_if(is_outside, result);
    f.unless_nan(x, result)
}

/// The inverse tangent of a number from 0 to 1.
fn arc(f: &mut Formula, ratio: Part) -> Part {
    let square = f.mul(ratio, ratio);
    f.odd(&ATAN, ratio, square)
}

/// The inverse tangent.
pub(super) fn atan(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    // Clamped, because a division by more than 2^126 has an unknown error.
    let (one, most) = (f.number(1.0), f.number(2f64.powi(60)));
    let end = f.min(x.magnitude, most);
    let end = f.max(end, one);
    let inverse = f.div(one, end);
    let is_large = f.above(x.size, bits_of(1.0));
    let ratio = f.select(is_large, inverse, x.magnitude);
    let small = arc(f, ratio);
    let large = less(f, QUARTER, small);
    let result = f.select(is_large, large, small);
    f.of_odd(x, result)
}

/// The angle of the point (x, y). The first operand is `y`.
pub(super) fn atan2(f: &mut Formula, of: &[Part]) -> Part {
    let (y, x) = (f.operand(of[0]), f.operand(of[1]));
    let is_steep = f.greater(y.size, x.size);
    let larger = f.select(is_steep, y.size, x.size);
    let smaller = f.select(is_steep, x.size, y.size);
    let (one, zero) = (f.number(1.0), f.number(0.0));
    // Scaled, so that the divisor is in the middle of the range.
    let (is_large, is_small) = (f.above(larger, bits_of(2f64.powi(64))), f.above(larger, bits_of(2f64.powi(-64))));
    let (down, up) = (f.number(2f64.powi(-64)), f.number(2f64.powi(64)));
    let scale = f.select(is_small, one, up);
    let scale = f.select(is_large, down, scale);
    let (numerator, divisor) = (f.float(smaller), f.float(larger));
    let (numerator, divisor) = (f.mul(numerator, scale), f.mul(divisor, scale));
    // The ratio is 0 for two zeros, 1 for two infinities, and 0 for a number and an infinity.
    let (is_infinite, are_infinite) = (f.equal(larger, INFINITY), f.equal(smaller, INFINITY));
    let bits = f.bits(divisor);
    let is_zero = f.equal(bits, 0);
    let has_none = f.either(is_infinite, is_zero);
    let divisor = f.select(has_none, one, divisor);
    let instead = f.select(are_infinite, one, zero);
    let numerator = f.select(has_none, instead, numerator);
    let ratio = f.div(numerator, divisor);
    let angle = arc(f, ratio);
    let steep = less(f, QUARTER, angle);
    let angle = f.select(is_steep, steep, angle);
    let (behind, is_behind) = (less(f, HALF, angle), f.above(x.bits, SIGN - 1));
    let angle = f.select(is_behind, behind, angle);
    let result = f.of_odd(y, angle);
    f.unless_nan(x, result)
}
