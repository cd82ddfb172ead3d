//! Hyperbolic functions, the error function, and the exponential minus 1.

use super::bits_of;
use super::formula::{Formula, INFINITY, Operand, Part};

/// The coefficients of `p` in `tanh(x) = x + x z p(z)`, where `z = x x`, for `x` up to 0.6. The relative error is 2^-28.4.
const TANH: [f32; 5] = [-0.333_332_986, 0.133_319_363, -0.053_784_635, 0.020_798_052, -0.005_896_998_6];

/// The coefficients of `p` in `sinh(x) = x + x z p(z)`, where `z = x x`, for `x` up to 1. The relative error is 2^-31.
const SINH: [f32; 4] = [0.166_666_672, 0.008_333_31, 0.000_198_428_96, 2.782_213_2e-6];

/// The coefficients of `p` in `exp(r) = 1 + r + r r p(r)` for `r` up to half of ln 2. The relative error is 2^-28.
const EXP: [f32; 5] = [0.499_999_94, 0.166_665_167, 0.041_668_106, 0.008_369_14, 0.001_383_671_4];

/// ln 2 as a sum. The first term has 9 bits, so that its products with exponents are exact.
pub(super) const LN_2: [f64; 2] = [0.693_359_375, -0.000_212_194_440_054_690_58];

/// The largest operand for which `erf` is a polynomial. For larger operands, the difference to 1 is computed.
const ERF_MIDDLE: f64 = 0.90625;

/// The coefficients of `p`, lowest first, in `erf(x) = x + x p(x x)` for `x` up to [`ERF_MIDDLE`]. The relative error is below 0.22 *
/// 2^-24.
const ERF_SMALL: [f32; 6] = [0.128_379_15, -0.376_125_16, 0.112_820_53, -0.026_775_526, 0.005_006_701, -0.000_606_199_44];

/// The coefficients of `q`, lowest first, in `erf(x) = 1 - exp2(q(x))` for `x` above [`ERF_MIDDLE`]. The relative error is below
/// 0.001 * 2^-24 for `x` up to 4, where `exp2(q(x))` is less than half of 2^-24. For larger `x`, `q` decreases.
const ERF_LARGE: [f32; 8] = [
    0.000_246_616_66,
    -1.629_519_5,
    -0.913_779_44,
    -0.156_156_61,
    0.036_201_682,
    -0.006_003_096,
    0.000_623_800_4,
    -0.000_030_173_85,
];

/// The hyperbolic tangent: a polynomial near 0, because `1 - 2 / (exp(2 x) + 1)` cancels there, otherwise that formula.
///
/// The result is 1 from about 9.01 on. The argument of `exp` is clamped to 20, because some drivers compute `tanh` by a quotient of
/// infinities, which is NaN.
pub(super) fn tanh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let square = f.mul(x.magnitude, x.magnitude);
    let small = f.odd(&TANH, x.magnitude, square);
    let (most, one, two) = (f.number(10.0), f.number(1.0), f.number(2.0));
    let end = f.min(x.magnitude, most);
    let twice = f.mul(end, two);
    let power = f.exp(twice);
    let divisor = f.add(power, one);
    let rest = f.div(two, divisor);
    let large = f.sub(one, rest);
    let is_large = f.above(x.size, bits_of(0.6));
    let result = f.select(is_large, large, small);
    f.of_odd(x, result)
}

/// The hyperbolic sine: a polynomial near 0, because the difference of the exponentials cancels there.
pub(super) fn sinh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let square = f.mul(x.magnitude, x.magnitude);
    let small = f.odd(&SINH, x.magnitude, square);
    let [rising, falling] = half_exponentials(f, x);
    let large = f.sub(rising, falling);
    let is_large = f.above(x.size, bits_of(1.0));
    let result = f.select(is_large, large, small);
    f.of_odd(x, result)
}

/// The hyperbolic cosine.
pub(super) fn cosh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let [rising, falling] = half_exponentials(f, x);
    let sum = f.add(rising, falling);
    let infinity = f.number(f64::INFINITY);
    let is_infinite = f.equal(x.size, INFINITY);
    let result = f.select(is_infinite, infinity, sum);
    f.unless_nan(x, result)
}

/// Returns `exp(x) / 2` and `exp(-x) / 2` for the absolute value of an operand.
///
/// The instruction `exp` is not used, because it may be off by `3 + 2 x` units in the last place. It also overflows for operands for
/// which `exp(x) / 2` does not.
fn half_exponentials(f: &mut Formula, x: Operand) -> [Part; 2] {
    let (most, per, half) = (f.number(100.0), f.number(std::f64::consts::LOG2_E), f.number(0.5));
    let end = f.min(x.magnitude, most);
    let scaled = f.mul_add(end, per, half);
    let count = f.floor(scaled);
    let [upper, lower] = LN_2.map(|part| f.number(-part));
    let rest = f.mul_add(count, upper, end);
    let rest = f.mul_add(count, lower, rest);
    let (square, p) = (f.mul(rest, rest), f.polynomial(&EXP, rest));
    let curve = f.mul_add(square, p, rest);
    let one = f.number(1.0);
    let mantissa = f.add(curve, one);
    let exponent = f.integer(count);
    let less = f.word(1);
    let exponent = f.minus(exponent, less);
    let rising = scaled_by(f, mantissa, exponent);
    // Clamped, because a division by more than 2^126 has an unknown error. The inverse of a larger divisor is negligible.
    let (large, quarter) = (f.number(2f64.powi(60)), f.number(0.25));
    let divisor = f.min(rising, large);
    let falling = f.div(quarter, divisor);
    [rising, falling]
}

/// `exp(x) - 1`: with `x = r + n ln 2`, it is `2^n (exp(r) - 1 + 1 - 2^-n)`, where `exp(r) - 1` is a polynomial, so that small operands keep
/// their digits.
pub(super) fn exp_m1(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    // Clamped, because a larger operand has the same result: -1 or infinity.
    let (least, most, per, half) = (f.number(-40.0), f.number(100.0), f.number(std::f64::consts::LOG2_E), f.number(0.5));
    let end = f.min(x.itself, most);
    let end = f.max(end, least);
    let scaled = f.mul_add(end, per, half);
    let count = f.floor(scaled);
    let [upper, lower] = LN_2.map(|part| f.number(-part));
    let rest = f.mul_add(count, upper, end);
    let rest = f.mul_add(count, lower, rest);
    let (square, p) = (f.mul(rest, rest), f.polynomial(&EXP, rest));
    let curve = f.mul_add(square, p, rest);
    // Clamped, because 1 - 2^-60 is 1.
    let (enough, one, bias) = (f.number(60.0), f.number(1.0), f.word(127));
    let lost = f.min(count, enough);
    let (exponent, lost) = (f.integer(count), f.integer(lost));
    let lost = f.minus(bias, lost);
    let lost = f.shifted_up(lost, 23);
    let lost = f.float(lost);
    let more = f.sub(one, lost);
    let mantissa = f.add(curve, more);
    let result = scaled_by(f, mantissa, exponent);
    // The result has the operand's sign. At -0, the sum has lost it.
    let sign = f.sign(x);
    let result = f.signed(result, sign);
    f.unless_nan(x, result)
}

/// Multiplies a number by a power of two. The exponent may be up to twice as large as an exponent of a float.
pub(super) fn scaled_by(f: &mut Formula, number: Part, exponent: Part) -> Part {
    let bias = f.word(127);
    let first = f.shifted_down(exponent, 1);
    let second = f.minus(exponent, first);
    [first, second].into_iter().fold(number, |number, part| {
        let biased = f.plus(part, bias);
        let bits = f.shifted_up(biased, 23);
        let power = f.float(bits);
        f.mul(number, power)
    })
}

/// The error function, which is odd and at most 1.
///
/// Both polynomials are minimax polynomials, found by the algorithm of Remez. `p` minimizes the relative error of `erf`. `q`
/// approximates `log2(1 - erf(x))`, weighted by its effect on `erf`. The coefficients are rounded to f32. Measured on every seventh
/// f32 from 1e-4 to 20, with a correctly rounded `exp2`, the result is off by at most 1.20 ULP if products and sums are fused, and by
/// 1.43 ULP if they are not. The error that Vulkan allows for `exp2` (3 + 2 |x| ULP) adds less than 2 ULP, and less the nearer `erf`
/// is to 1.
pub(super) fn erf(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let square = f.mul(x.magnitude, x.magnitude);
    let ratio = f.polynomial(&ERF_SMALL, square);
    let small = f.mul_add(ratio, x.magnitude, x.magnitude);
    let (one, most) = (f.number(1.0), f.number(5.0));
    let end = f.min(x.magnitude, most);
    let bits = f.polynomial(&ERF_LARGE, end);
    let left = f.exp2(bits);
    let large = f.sub(one, left);
    let is_large = f.above(x.size, bits_of(ERF_MIDDLE));
    let result = f.select(is_large, large, small);
    f.of_odd(x, result)
}
