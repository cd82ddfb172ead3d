//! Floats with a bound on a device's error: running error analysis.
//!
//! A [`Float`] contains the value in f64, a bound on the absolute error of the same computation in the kernel's own dtype, and
//! a magnitude: the value if every subtraction were an addition. A sum of n items has the error bound `n * u * sum |x|` in any
//! order, so each addition adds `u` times the magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
//! The precision of functions is given by the table in docs/language.md. For `exp`, `sqrt`, `sin` and `cos` it is Vulkan's
//! ("Precision of SPIR-V Instructions"). The other functions are formulas of the backend.
//!
//! If the value, or a partial result in some order, can exceed the dtype's largest number, a device may have an infinity there,
//! and whatever follows from it, so the error is unbounded. A partial sum is at most the magnitude. For products see
//! [`Product`].

use crate::expr::operators::Precision;
use crate::expr::{Binary, Unary};
use tilewright_launch::{DType, FloatFormat};

/// A value, and a bound on a device's error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    /// The value, in f64.
    pub value: f64,
    /// An upper bound of the absolute value. Rounding errors are proportional to it.
    pub magnitude: f64,
    /// A bound on the error of a device; infinite if the error is unbounded.
    pub error: f64,
}

/// Returns the format in which a device computes with a dtype. Floats that are computed from integers are f32.
fn format(dtype: DType) -> FloatFormat {
    dtype.float_format().unwrap_or(FloatFormat::F32)
}

/// A bound on the partial results of a product, for every order of its factors.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// The product of all factors above 1, which is the largest partial result.
    most: f64,
    /// The number of factors.
    factors: f64,
}

impl Default for Product {
    /// Makes the empty product.
    fn default() -> Product {
        Product { most: 1.0, factors: 0.0 }
    }
}

impl Product {
    /// Adds a factor.
    pub(super) fn times(self, factor: Float) -> Product {
        Product { most: self.most * (factor.value.abs() + factor.error).max(1.0), factors: self.factors + 1.0 }
    }

    /// Widens the error of `whole`, which was computed in one order, to all orders.
    pub(super) fn in_any_order(self, whole: Float, dtype: DType) -> Float {
        // A partial product that is flushed to 0 is off by `tiny`, times the remaining factors.
        let flushed = self.factors * format(dtype).least_normal * self.most;
        let overflows = self.most.is_nan() || self.most > format(dtype).greatest;
        Float { error: if overflows { f64::INFINITY } else { whole.error + flushed }, ..whole }
    }
}

impl Float {
    /// A value that a device represents exactly.
    pub fn exact(value: f64) -> Float {
        Float { value, magnitude: value.abs(), error: 0.0 }
    }

    /// The value that bits mean. A device may flush a subnormal number to 0.
    pub(super) fn of_bits(bits: u32, dtype: DType) -> Float {
        let value = dtype.from_bits(bits);
        let flushes = value.abs() < format(dtype).least_normal;
        Float::known(value, if flushes { value.abs() } else { 0.0 })
    }

    fn known(value: f64, error: f64) -> Float {
        Float { value, magnitude: value.abs(), error }
    }

    /// The value as a device stores it in a dtype.
    pub fn rounded(self, dtype: DType) -> Float {
        let (u, tiny) = (format(dtype).roundoff(), format(dtype).least_normal);
        // The dtype represents small whole numbers exactly.
        if self.error == 0.0 && self.value.fract() == 0.0 && self.value.abs() <= 1.0 / u {
            return self;
        }
        Float { error: self.error + u * (self.value.abs() + self.error) + tiny, ..self }.held(self.value, dtype)
    }

    /// A result in a dtype, where the device has computed numbers as large as `most`. If that exceeds the dtype's largest number,
    /// the error is unbounded.
    fn held(self, most: f64, dtype: DType) -> Float {
        let overflows = self.value.is_finite() && most.abs() + self.error > format(dtype).greatest;
        Float { error: if overflows { f64::INFINITY } else { self.error }, ..self }
    }

    /// Applies a function of one value, computed in a dtype.
    pub fn unary(self, op: Unary, dtype: DType) -> Float {
        let (x, e) = (self.value, self.error);
        let value = op.of_float(x);
        match op.precision() {
            Precision::Exact => Float { value, ..self },
            Precision::Steps(to_jump) => self.step(value, to_jump(x)),
            Precision::Teeth(to_jump) => Float { error: self.step(value, to_jump(x)).error + e, ..Float::known(value, e) },
            precision => {
                let spread = if matches!(precision, Precision::Sine) { e } else { spread(op, x, e) };
                Float::known(value, spread + own(op, x, value, dtype)).held(value, dtype)
            }
        }
    }

    /// Applies a step function. It is exact if the operand's error does not reach the next jump, which is `distance` away.
    fn step(self, value: f64, distance: f64) -> Float {
        let error = if self.error == 0.0 || self.error < distance { 0.0 } else { f64::INFINITY };
        Float::known(value, error)
    }

    /// Applies a function of two values, computed in a dtype.
    pub fn binary(self, op: Binary, other: Float, dtype: DType) -> Float {
        let result = self.bounded(op, other, dtype);
        // 0 times an infinite bound is NaN, which also means an unbounded error.
        let result = Float { error: if result.error.is_nan() { f64::INFINITY } else { result.error }, ..result };
        match op {
            Binary::Min | Binary::Max => result,
            Binary::Add | Binary::Sub => result.held(result.magnitude, dtype),
            _ => result.held(result.value, dtype),
        }
    }

    fn bounded(self, op: Binary, other: Float, dtype: DType) -> Float {
        let (a, b) = (self, other);
        let (u, tiny) = (format(dtype).roundoff(), format(dtype).least_normal);
        match op {
            Binary::Add | Binary::Sub => {
                let value = if op == Binary::Add { a.value + b.value } else { a.value - b.value };
                // If the device also has the infinity exactly, the sum is infinite without error.
                let exact = |x: Float, other: Float| x.value.is_infinite() && x.error == 0.0 && other.error.is_finite();
                if value.is_infinite() && (exact(a, b) || exact(b, a)) {
                    return Float::known(value, 0.0);
                }
                let magnitude = a.magnitude + b.magnitude;
                Float { value, magnitude, error: a.error + b.error + u * (magnitude + a.error + b.error) + tiny }
            }
            Binary::Mul => {
                let value = a.value * b.value;
                // The same holds for an infinity times a number that is surely not 0.
                let exact = |x: Float, other: Float| x.value.is_infinite() && x.error == 0.0 && other.value.abs() > other.error;
                if exact(a, b) || exact(b, a) {
                    return Float::known(value, 0.0);
                }
                // A product with an exact zero is not rounded.
                let zero =
                    |x: Float, other: Float| x.value == 0.0 && x.error == 0.0 && other.value.is_finite() && other.error.is_finite();
                if zero(a, b) || zero(b, a) {
                    return Float::known(value, 0.0);
                }
                let magnitude = a.magnitude * b.magnitude;
                let carried = a.value.abs() * b.error + b.value.abs() * a.error + a.error * b.error;
                Float { value, magnitude, error: carried + u * (magnitude + carried) + tiny }
            }
            Binary::Div => {
                let value = a.value / b.value;
                let least = (b.value.abs() - b.error).max(0.0);
                let carried = (a.error + value.abs() * b.error) / least;
                let carried = if carried.is_nan() { f64::INFINITY } else { carried };
                Float { value, magnitude: a.magnitude / least, error: carried + 5.0 * u * (value.abs() + carried) + tiny }
            }
            Binary::Min | Binary::Max => {
                let value = if op == Binary::Min { a.value.min(b.value) } else { a.value.max(b.value) };
                // An operand that cannot be the chosen one, whatever its error, does not make the result less certain: for example, an
                // identity.
                let chosen = |side: &&Float| side.value == value || (side.value - value).abs() <= a.error + b.error;
                let most = |of: fn(&Float) -> f64| [&a, &b].into_iter().filter(chosen).map(of).fold(0.0, f64::max);
                if value.is_nan() || a.value.is_nan() || b.value.is_nan() {
                    return Float::known(value, a.error.max(b.error));
                }
                Float { value, magnitude: most(|side| side.magnitude).max(value.abs()), error: most(|side| side.error) }
            }
            Binary::Rem | Binary::RemEuclid | Binary::DivEuclid => division(op, a, b, dtype),
            Binary::CopySign => with_sign(a, b),
            Binary::Pow => power(a, b, dtype),
            Binary::Atan2 => angle(a, b, dtype),
            _ => Float::known(f64::NAN, f64::INFINITY),
        }
    }
}

/// Returns a remainder, or the quotient of a Euclidean division. For quotients up to 2^20, remainders are exact except that a sum with the
/// divisor is rounded, and the quotient is exact, if the operands are.
fn division(op: Binary, a: Float, b: Float, dtype: DType) -> Float {
    let (x, y, tiny) = (a.value, b.value, format(dtype).least_normal);
    let (quotient, rest) = ((x / y).abs(), x.rem_euclid(y));
    let (value, own) = match op {
        Binary::Rem => (x % y, tiny),
        Binary::RemEuclid => (rest, ulps(1.0, rest, dtype)),
        _ if dtype == DType::F32 => (x.div_euclid(y), 0.0),
        _ => (x.div_euclid(y), ulps(1.0, x.div_euclid(y), dtype)),
    };
    // A large quotient is a division that is rounded to an integer.
    let (is_quotient, is_large) = (op == Binary::DivEuclid, quotient >= REMAINDERS);
    let own = if is_quotient && is_large { 6.0 * format(dtype).roundoff() * value.abs() + 1.0 } else { own };
    // A device may flush such a number to 0, so that the remainder is 0 instead of nearly the divisor.
    let is_flushed = x < 0.0 && -x < tiny && op != Binary::Rem;
    if a.error == 0.0 && b.error == 0.0 {
        let is_known = y.abs() >= tiny && !is_flushed && (is_quotient || !is_large);
        return match value.is_infinite() && (x.is_infinite() || y == 0.0 || y.is_infinite()) {
            true => Float::known(value, 0.0),
            false => Float::known(value, if value.is_nan() || is_known { own } else { f64::INFINITY }),
        };
    }
    // The remainder and the quotient jump where the exact quotient is an integer.
    let moved = a.error + (quotient + 1.0) * b.error;
    let is_known = moved < rest.min(y.abs() - rest) && !is_large;
    let moved = if is_quotient { 0.0 } else { moved };
    Float::known(value, if is_known { moved + own } else { f64::INFINITY })
}

/// Returns a number with the sign of another one. The sign of a zero is left open, because operations may return a zero of either sign.
fn with_sign(a: Float, b: Float) -> Float {
    let is_known = b.value.abs() > b.error;
    Float { value: a.value.copysign(b.value), error: if is_known { a.error } else { f64::INFINITY }, ..a }
}

/// Returns the power, which is monotone in each operand if the base is above 0.
fn power(a: Float, b: Float, dtype: DType) -> Float {
    let (value, tiny) = (a.value.powf(b.value), format(dtype).least_normal);
    let is_flushed = a.value != 0.0 && a.value.abs() < tiny;
    // The infinity of a negative power of 0 has the sign of the zero.
    let is_pole = a.value == 0.0 && b.value < 0.0;
    if is_flushed || is_pole {
        return Float::known(value, f64::INFINITY);
    }
    let own = if value.is_finite() { ulps(16.0, value, dtype) } else { 0.0 };
    if a.error == 0.0 && b.error == 0.0 {
        return Float::known(value, own);
    }
    let corners = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
    let moved = corners.map(|(s, t)| ((a.value + s * a.error).powf(b.value + t * b.error) - value).abs());
    let is_known = a.value > a.error && moved.iter().all(|by| by.is_finite());
    let most = moved.into_iter().fold(0.0, f64::max);
    Float::known(value, if is_known { most * (1.0 + f64::from(f32::EPSILON) * 16.0) + own } else { f64::INFINITY })
}

/// Returns the angle of a point. Its slope is at most 1 over the distance from the origin.
fn angle(a: Float, b: Float, dtype: DType) -> Float {
    let value = a.value.atan2(b.value);
    let radius = a.value.hypot(b.value) - a.error - b.error;
    let moved = a.error + b.error;
    // The angle jumps by a full turn at the negative x-axis, where the sign of a zero decides.
    let is_at_jump = a.value.abs() <= a.error && b.value - b.error <= 0.0;
    let moved = if moved == 0.0 { 0.0 } else { moved / radius.max(0.0) };
    Float::known(value, if is_at_jump { f64::INFINITY } else { moved + ulps(6.0, value, dtype) })
}

/// Returns `n` units in the last place of a result in f32. A narrower result is computed in f32 and rounded.
fn ulps(n: f64, y: f64, dtype: DType) -> f64 {
    let (u, tiny) = (format(dtype).roundoff(), format(dtype).least_normal);
    2.0 * u * if dtype == DType::F32 { n } else { 1.0 } * y.abs() + tiny
}

/// The largest quotient for which a remainder is exact.
const REMAINDERS: f64 = (1 << 20) as f64;

/// The largest operand for which `tan` has a bound and `sin` and `cos` are judged. The argument of larger operands is not reduced
/// precisely.
const TURNS: f64 = 8192.0;

/// Returns a bound on the change of the result if the operand changes by `e`: the larger change of both directions. This is a
/// bound because each of these functions is monotone, or has slopes of at most 1 where it is not.
fn spread(op: Unary, x: f64, e: f64) -> f64 {
    if e == 0.0 {
        return 0.0;
    }
    let pole = |x: f64| (x / std::f64::consts::PI - 0.5).floor();
    if matches!(op.precision(), Precision::Tangent(_)) && pole(x - e) != pole(x + e) {
        return f64::INFINITY;
    }
    let y = op.of_float(x);
    let (low, high) = ((op.of_float(x - e) - y).abs(), (op.of_float(x + e) - y).abs());
    let most = low.max(high);
    if low.is_nan() || high.is_nan() { f64::INFINITY } else { most }
}

/// Returns the error of the function itself, as the table in docs/language.md states it.
fn own(op: Unary, x: f64, y: f64, dtype: DType) -> f64 {
    let (u, tiny) = (format(dtype).roundoff(), format(dtype).least_normal);
    let relative = |n: f64| n * 2.0 * u * y.abs() + tiny;
    match op.precision() {
        // Infinities are the same as in Rust. The error of NaN is NaN, so that `min` and `max` of NaN and a number have the error
        // bound of the number.
        _ if y.is_infinite() => 0.0,
        _ if y.is_nan() => y,
        // A device may flush such a number to 0, at which the function is infinite.
        _ if x.abs() < tiny && op.of_float(0.0).is_infinite() => f64::INFINITY,
        Precision::Exact | Precision::Steps(_) | Precision::Teeth(_) => 0.0,
        Precision::Epsilons(..) if y == 0.0 => tiny,
        Precision::Epsilons(n, of_operand) => relative(n + of_operand * x.abs()),
        Precision::Sine | Precision::Tangent(_) if x.abs() > TURNS => f64::INFINITY,
        // For narrower types the function is computed in f32, and rounded.
        Precision::Sine => 2f64.powi(-11) + if dtype == DType::F32 { 0.0 } else { relative(1.0) },
        Precision::Ulps(n) | Precision::Tangent(n) => ulps(n, y, dtype),
    }
}
