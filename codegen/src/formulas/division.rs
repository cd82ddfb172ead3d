//! Remainders, and the integer quotient of the Euclidean division.

use super::bits_of;
use super::formula::{Formula, INFINITY, Operand, Part};
use super::rounding::halves;

/// The division of the absolute values of `x` and `y`, rounded to 0.
///
/// It is exact for quotients below 2^20. The product of the quotient and the divisor is subtracted in four exact parts. The quotient is
/// rounded to the nearest integer. So the absolute difference is below the divisor even if the division is imprecise, and the difference
/// is exact.
struct Division {
    x: Operand,
    y: Operand,
    /// The quotient as the device divides.
    ratio: Part,
    /// The nearest integer to it.
    nearest: Part,
    /// True if the nearest integer is above the exact quotient.
    is_above: Part,
    /// The rest, scaled as the operands are. It is not valid if `x` is less than `y`.
    scaled_rest: Part,
    /// True if the absolute value of `x` is the lesser one.
    is_less: Part,
    rest: Part,
}

impl Division {
    fn of(f: &mut Formula, of: &[Part]) -> Division {
        let (x, y) = (f.operand(of[0]), f.operand(of[1]));
        let (zero, one) = (f.number(0.0), f.number(1.0));
        // The operands are scaled, because a division by more than 2^126 has an unknown error, and devices may flush parts of small
        // numbers.
        let (is_large, is_small) = (f.above(y.size, bits_of(2f64.powi(60))), f.above(y.size, bits_of(2f64.powi(-60))));
        let (down, up) = (f.number(2f64.powi(-60)), f.number(2f64.powi(60)));
        let (scale, back) = (f.select(is_small, one, up), f.select(is_small, one, down));
        let (scale, back) = (f.select(is_large, down, scale), f.select(is_large, up, back));
        let (a, b) = (f.mul(x.magnitude, scale), f.mul(y.magnitude, scale));
        let (ratio, half, most) = (f.div(a, b), f.number(0.5), f.number(2f64.powi(22)));
        let quotient = f.add(ratio, half);
        let quotient = f.floor(quotient);
        let nearest = f.min(quotient, most);
        let ([q, p], [d, e]) = (halves(f, nearest), halves(f, b));
        let mut rest = a;
        for (m, n) in [(q, d), (q, e), (p, d), (p, e)] {
            let part = f.mul(m, n);
            rest = f.sub(rest, part);
        }
        let (is_above, more) = (f.less(rest, zero), f.add(rest, b));
        let rest = f.select(is_above, more, rest);
        // If the quotient is too large, the rest is unspecified, but still below the divisor.
        let (is_below, is_inside) = (f.less(rest, zero), f.less(rest, b));
        let rest = f.select(is_below, zero, rest);
        let scaled_rest = f.select(is_inside, rest, zero);
        let rest = f.mul(scaled_rest, back);
        let is_less = f.greater(y.size, x.size);
        Division { x, y, ratio, nearest, is_above, scaled_rest, is_less, rest: f.select(is_less, x.magnitude, rest) }
    }

    /// Returns the quotient. A large quotient is the device's, rounded to an integer. The limit is above 2^20, because the device's quotient
    /// of numbers below 2^20 may be 2^20.
    fn quotient(&self, f: &mut Formula) -> Part {
        let (zero, one, end) = (f.number(0.0), f.number(1.0), f.number(1.5 * 2f64.powi(20)));
        let less = f.sub(self.nearest, one);
        let exact = f.select(self.is_above, less, self.nearest);
        let (is_exact, whole) = (f.less(self.ratio, end), f.floor(self.ratio));
        let quotient = f.select(is_exact, exact, whole);
        f.select(self.is_less, zero, quotient)
    }

    /// Returns NaN if an operand is NaN, the dividend is infinite or the divisor is 0, and the remainder otherwise.
    fn remainder(&self, f: &mut Formula, rest: Part) -> Part {
        let (by_zero, of_infinity) = (f.equal(self.y.size, 0), f.equal(self.x.size, INFINITY));
        let is_undefined = f.either(by_zero, of_infinity);
        let rest = f.nan_if(is_undefined, rest);
        let rest = f.unless_nan(self.y, rest);
        f.unless_nan(self.x, rest)
    }

    /// True if the Euclidean division rounds the quotient down further, because the dividend is negative and has a rest.
    fn is_further(&self, f: &mut Formula) -> Part {
        let zero = f.number(0.0);
        let (is_nonzero, has_rest) = (f.above(self.x.size, 0), f.less(zero, self.scaled_rest));
        let has_rest = f.select(self.is_less, is_nonzero, has_rest);
        let is_negative = f.is_negative(self.x);
        f.both(is_negative, has_rest)
    }
}

/// The remainder of a division that truncates, with the sign of the dividend.
pub(super) fn remainder(f: &mut Formula, of: &[Part]) -> Part {
    let division = Division::of(f, of);
    let sign = f.sign(division.x);
    let rest = f.signed(division.rest, sign);
    division.remainder(f, rest)
}

/// The remainder of the Euclidean division. It is not negative, except that a multiple of the divisor below 0 gives -0, as in Rust.
pub(super) fn euclidean_remainder(f: &mut Formula, of: &[Part]) -> Part {
    let division = Division::of(f, of);
    let (is_further, sign, none) = (division.is_further(f), f.sign(division.x), f.word(0));
    let more = f.sub(division.y.magnitude, division.rest);
    let rest = f.select(is_further, more, division.rest);
    let sign = f.select(is_further, none, sign);
    let rest = f.signed(rest, sign);
    division.remainder(f, rest)
}

/// The quotient of the Euclidean division.
pub(super) fn euclidean_quotient(f: &mut Formula, of: &[Part]) -> Part {
    let division = Division::of(f, of);
    let (x, y, quotient) = (division.x, division.y, division.quotient(f));
    let (is_further, one) = (division.is_further(f), f.number(1.0));
    let next = f.add(quotient, one);
    let quotient = f.select(is_further, next, quotient);
    // By 0, or of infinity, the quotient is infinite, unless it is NaN.
    let ([x_is_zero, y_is_zero], [x_is_infinite, y_is_infinite]) =
        ([x, y].map(|of| f.equal(of.size, 0)), [x, y].map(|of| f.equal(of.size, INFINITY)));
    let infinity = f.number(f64::INFINITY);
    let is_infinite = f.either(y_is_zero, x_is_infinite);
    let quotient = f.select(is_infinite, infinity, quotient);
    let (x_sign, y_sign) = (f.sign(x), f.sign(y));
    let sign = f.xor(x_sign, y_sign);
    let quotient = f.signed(quotient, sign);
    let (of_zeros, of_infinities) = (f.both(x_is_zero, y_is_zero), f.both(x_is_infinite, y_is_infinite));
    let is_undefined = f.either(of_zeros, of_infinities);
    let quotient = f.nan_if(is_undefined, quotient);
    let quotient = f.unless_nan(y, quotient);
    f.unless_nan(x, quotient)
}
