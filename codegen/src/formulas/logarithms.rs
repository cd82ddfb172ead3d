//! Logarithms, and the inverses of the hyperbolic functions, which use logarithms.

use super::bits_of;
use super::exponentials::LN_2;
use super::formula::{Formula, INFINITY, Operand, Part};

/// The coefficients of `p` in `ln(m) = 2 s + s z p(z)`, where `s = (m - 1) / (m + 1)` and `z = s s`, for `m` between the square roots
/// of 1/2 and 2. The relative error is 2^-30.
const LOG: [f32; 3] = [0.666_667_76, 0.399_775_68, 0.298_714_6];

/// The coefficients of `p` in `ln(1 + x) = x + x x p(x)` for `x` up to [`SMALL`], by Taylor's series. The relative error is 2^-32.
const LOG_1P: [f32; 4] = [-0.5, 0.333_333_343, -0.25, 0.2];

/// The operand up to which `ln(1 + x)` is a polynomial.
const SMALL: f64 = 0.015_625;

/// The logarithm of 2 to the base 10 as a sum. The first term has 13 bits, so that its products with exponents are exact.
const LOG10_2: [f64; 2] = [0.301_025_390_625, 4.605_038_981_195_214e-6];

/// The bits of the square root of 1/2. Mantissas are between this number and twice this number.
const ROOT_OF_HALF: u32 = 0x3f35_04f3;

/// The operand above which `asinh(x)` and `acosh(x)` are computed as `ln(2 x)`.
const LARGE: f64 = 4096.0;

/// A positive number, decomposed into a mantissa near 1 and a power of two.
pub(super) struct Split {
    /// The mantissa minus 1.
    pub(super) rest: Part,
    /// The exponent, as a float.
    pub(super) exponent: Part,
}

impl Split {
    /// Decomposes a normal number.
    pub(super) fn of(f: &mut Formula, x: Part) -> Split {
        let (bits, root, one) = (f.bits(x), f.word(ROOT_OF_HALF), f.number(1.0));
        let offset = f.minus(bits, root);
        let exponent = f.shifted_down(offset, 23);
        let power = f.shifted_up(exponent, 23);
        let mantissa = f.minus(bits, power);
        let mantissa = f.float(mantissa);
        Split { rest: f.sub(mantissa, one), exponent: f.of_integer(exponent) }
    }

    /// Returns the number to subtract from `rest` for the logarithm of the mantissa.
    fn curve(&self, f: &mut Formula) -> Part {
        let two = f.number(2.0);
        let divisor = f.add(self.rest, two);
        let s = f.div(self.rest, divisor);
        let z = f.mul(s, s);
        let p = f.polynomial(&LOG, z);
        let p = f.mul(z, p);
        // An error of `s` has little effect, because the curve is small compared to `rest`.
        let difference = f.sub(self.rest, p);
        f.mul(s, difference)
    }
}

/// Returns `ln(x) + more + exponent ln 2` for a normal number `x`.
fn logarithm(f: &mut Formula, x: Part, more: Option<Part>, exponent: Option<Part>) -> Part {
    let split = Split::of(f, x);
    let exponent = match exponent {
        Some(more) => f.add(split.exponent, more),
        None => split.exponent,
    };
    let curve = split.curve(f);
    let [upper, lower] = LN_2.map(|part| f.number(part));
    let mut small = f.mul(exponent, lower);
    if let Some(more) = more {
        small = f.add(small, more);
    }
    let small = f.sub(curve, small);
    let small = f.sub(small, split.rest);
    let large = f.mul(exponent, upper);
    f.sub(large, small)
}

/// Returns the operand of a logarithm and an exponent to add. Subnormal numbers are scaled up, unless the device flushes them.
pub(super) fn normal(f: &mut Formula, x: Operand) -> (Part, Part) {
    let is_normal = f.above(x.size, 0x007f_ffff);
    let (scale, less, none) = (f.number(2f64.powi(23)), f.number(-23.0), f.number(0.0));
    let scaled = f.mul(x.magnitude, scale);
    (f.select(is_normal, x.magnitude, scaled), f.select(is_normal, none, less))
}

/// Replaces the result of a logarithm if the operand is infinity, NaN, negative or 0. The operand counts as 0 if `scaled` is 0.
fn at_ends(f: &mut Formula, x: Operand, scaled: Part, result: Part) -> Part {
    let is_number = f.above(x.size, INFINITY - 1);
    let result = f.select(is_number, x.itself, result);
    let is_negative = f.is_negative(x);
    let result = f.nan_if(is_negative, result);
    let result = f.unless_nan(x, result);
    let (bits, least) = (f.bits(scaled), f.number(f64::NEG_INFINITY));
    let is_zero = f.equal(bits, 0);
    f.select(is_zero, least, result)
}

/// The natural logarithm.
pub(super) fn ln(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (scaled, exponent) = normal(f, x);
    let result = logarithm(f, scaled, None, Some(exponent));
    at_ends(f, x, scaled, result)
}

/// The logarithm to the base 2; exact for powers of two.
pub(super) fn log2(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (scaled, less) = normal(f, x);
    let split = Split::of(f, scaled);
    let curve = split.curve(f);
    let of_mantissa = f.sub(split.rest, curve);
    let (exponent, per) = (f.add(split.exponent, less), f.number(std::f64::consts::LOG2_E));
    let result = f.mul_add(of_mantissa, per, exponent);
    at_ends(f, x, scaled, result)
}

/// The logarithm to the base 10; exact for powers of ten. The exponent's logarithm is a sum of two parts, and the last addition rounds only
/// the first part's low bits.
pub(super) fn log10(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (scaled, less) = normal(f, x);
    let split = Split::of(f, scaled);
    let curve = split.curve(f);
    let of_mantissa = f.sub(split.rest, curve);
    let (exponent, per) = (f.add(split.exponent, less), f.number(std::f64::consts::LOG10_E));
    let [upper, lower] = LOG10_2.map(|part| f.number(part));
    let (large, small) = (f.mul(exponent, upper), f.mul(exponent, lower));
    let small = f.mul_add(of_mantissa, per, small);
    let result = f.add(large, small);
    at_ends(f, x, scaled, result)
}

/// `ln(1 + x)`: a polynomial near 0. Otherwise, the rounding error of `1 + x` is added to the logarithm.
pub(super) fn ln_1p(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (square, p) = (f.mul(x.itself, x.itself), f.polynomial(&LOG_1P, x.itself));
    let small = f.mul_add(square, p, x.itself);
    let one = f.number(1.0);
    let sum = f.add(x.itself, one);
    let whole = f.sub(sum, one);
    let lost = f.sub(x.itself, whole);
    // A division by more than 2^126 has an unknown error.
    let most = f.number(2f64.powi(60));
    let divisor = f.min(sum, most);
    let more = f.div(lost, divisor);
    let large = logarithm(f, sum, Some(more), None);
    let is_large = f.above(x.size, bits_of(SMALL));
    let result = f.select(is_large, large, small);
    let (is_infinite, is_negative) = (f.equal(x.size, INFINITY), f.is_negative(x));
    let result = f.select(is_infinite, x.itself, result);
    let (is_end, least) = (f.equal(x.bits, bits_of(-1.0)), f.number(f64::NEG_INFINITY));
    let result = f.select(is_end, least, result);
    let is_outside = f.above(x.size, bits_of(1.0));
    let is_outside = f.both(is_negative, is_outside);
    let result = f.nan_if(is_outside, result);
    f.unless_nan(x, result)
}

/// Returns `ln(1 + z)`, or `ln(2 x)` if the operand is large.
///
/// The rounding error of `1 + z` is added to the logarithm, because otherwise the result would lose the digits of a small `z`.
fn of_one_more(f: &mut Formula, z: Part, large: Option<(Part, Part)>) -> Part {
    let one = f.number(1.0);
    let mut sum = f.add(z, one);
    let whole = f.sub(sum, one);
    let lost = f.sub(z, whole);
    let Some((is_large, x)) = large else {
        let more = f.div(lost, sum);
        return logarithm(f, sum, Some(more), None);
    };
    sum = f.select(is_large, x, sum);
    let (zero, ln_2) = (f.number(0.0), f.number(std::f64::consts::LN_2));
    let lost = f.select(is_large, zero, lost);
    // A division by more than 2^126 has an unknown error.
    let most = f.number(2f64.powi(60));
    let divisor = f.min(sum, most);
    let more = f.div(lost, divisor);
    let more = f.select(is_large, ln_2, more);
    logarithm(f, sum, Some(more), None)
}

/// The inverse hyperbolic sine: `ln(1 + x + x x / (1 + sqrt(x x + 1)))`, where `x` is the absolute value of the operand.
pub(super) fn asinh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (is_large, end, one) = (f.above(x.size, bits_of(LARGE)), f.number(LARGE), f.number(1.0));
    let a = f.min(x.magnitude, end);
    let square = f.mul(a, a);
    let under = f.add(square, one);
    let root = root(f, under);
    let divisor = f.add(root, one);
    let more = f.div(square, divisor);
    let z = f.add(a, more);
    let result = of_one_more(f, z, Some((is_large, x.magnitude)));
    let is_infinite = f.equal(x.size, INFINITY);
    let result = f.select(is_infinite, x.magnitude, result);
    f.of_odd(x, result)
}

/// The inverse hyperbolic cosine: `ln(1 + t + sqrt(t (t + 2)))` for `t = x - 1`. Below 1 it is NaN.
pub(super) fn acosh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (is_large, end, one, two) = (f.above(x.size, bits_of(LARGE)), f.number(LARGE), f.number(1.0), f.number(2.0));
    let a = f.min(x.magnitude, end);
    let t = f.sub(a, one);
    let more = f.add(t, two);
    let under = f.mul(t, more);
    let root = root(f, under);
    let z = f.add(t, root);
    let result = of_one_more(f, z, Some((is_large, x.magnitude)));
    let is_infinite = f.equal(x.size, INFINITY);
    let result = f.select(is_infinite, x.magnitude, result);
    // Tests on the operand's bits whether it is between 1 and infinity.
    let is_inside = f.above(x.bits, bits_of(1.0) - 1);
    let is_negative = f.is_negative(x);
    let is_outside = f.not(is_inside);
    let is_outside = f.either(is_outside, is_negative);
    let result = f.nan_if(is_outside, result);
    f.unless_nan(x, result)
}

/// The inverse hyperbolic tangent: half of `ln(1 + 2 x / (1 - x))`, where `x` is the absolute value of the operand. It is infinite at
/// 1, and NaN above 1.
pub(super) fn atanh(f: &mut Formula, of: &[Part]) -> Part {
    let x = f.operand(of[0]);
    let (one, half) = (f.number(1.0), f.number(0.5));
    let twice = f.add(x.magnitude, x.magnitude);
    let rest = f.sub(one, x.magnitude);
    let z = f.div(twice, rest);
    let result = of_one_more(f, z, None);
    let result = f.mul(half, result);
    let (is_end, infinity) = (f.equal(x.size, bits_of(1.0)), f.number(f64::INFINITY));
    let result = f.select(is_end, infinity, result);
    let is_outside = f.above(x.size, bits_of(1.0));
    let result = f.nan_if(is_outside, result);
    f.of_odd(x, result)
}

/// The square root of a number that is not negative. The error is less than two units in the last place.
///
/// Vulkan allows `sqrt` an error of several units. One step of Newton's method corrects it. This also works on devices that round the
/// product before the subtraction, because the square's error is then known to half a unit.
pub(super) fn root(f: &mut Formula, x: Part) -> Part {
    let (least, half) = (f.number(1e-30), f.number(0.5));
    let inside = f.max(x, least);
    let inverse = f.inverse_sqrt(inside);
    let guess = f.mul(inside, inverse);
    let slope = f.mul(half, inverse);
    let opposite = f.negative(guess);
    let error = f.mul_add(opposite, guess, inside);
    let root = f.mul_add(slope, error, guess);
    let (zero, is_below) = (f.number(0.0), f.less(x, least));
    f.select(is_below, zero, root)
}
