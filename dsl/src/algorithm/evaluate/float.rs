//! Floats with a bound on how far a device may be off: running error analysis.
//!
//! A [`Float`] holds the value in f64, a bound on the absolute error of the same computation in the kernel's own dtype,
//! and a magnitude: the value with every subtraction made an addition. A sum of n items has the error bound
//! `n * u * sum |x|`, whatever the order, so each addition adds `u` times the magnitudes (Higham, Accuracy and Stability
//! of Numerical Algorithms, section 4.2). The precision of functions is what Vulkan asks for ("Precision of SPIR-V
//! Instructions").
//!
//! Where the value, or a partial result in some order, can be beyond the dtype's largest number, a device may have an infinity
//! there, and what follows from that: nothing can be said. A partial sum is at most the magnitude; for products see [`Product`].

use super::erf::erf;
use crate::expr::{Binary, Unary};
use tilewright_launch::DType;

/// A value and how far a device may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Float {
    /// The value, in f64.
    pub value: f64,
    /// At least its absolute value: what rounding errors are proportional to.
    pub magnitude: f64,
    /// How far a device may be off; infinite where nothing can be said.
    pub error: f64,
}

/// The unit roundoff of a dtype, and its smallest normal number, to which a device may flush.
fn unit(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F16 => (2f64.powi(-11), 2f64.powi(-14)),
        DType::BF16 => (2f64.powi(-8), f64::from(f32::MIN_POSITIVE)),
        DType::F32 | DType::I32 | DType::U32 | DType::I8 | DType::U8 | DType::Bool => {
            (2f64.powi(-24), f64::from(f32::MIN_POSITIVE))
        }
    }
}

/// The largest number of a dtype.
fn largest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        DType::F32 | DType::I32 | DType::U32 | DType::I8 | DType::U8 | DType::Bool => f64::from(f32::MAX),
    }
}

/// What the partial results of a product can be, in whatever order it is computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Product {
    /// The largest: of the factors beyond 1.
    most: f64,
    /// How many factors.
    factors: f64,
}

impl Product {
    /// Of no factors.
    pub(super) fn new() -> Product {
        Product { most: 1.0, factors: 0.0 }
    }

    /// With one factor more.
    pub(super) fn times(self, factor: Float) -> Product {
        Product { most: self.most * (factor.value.abs() + factor.error).max(1.0), factors: self.factors + 1.0 }
    }

    /// The whole product, which was computed in one order, in any.
    pub(super) fn in_any_order(self, whole: Float, dtype: DType) -> Float {
        // A partial product that is flushed to 0 is off by `tiny`, times what follows.
        let flushed = self.factors * unit(dtype).1 * self.most;
        let overflows = self.most.is_nan() || self.most > largest(dtype);
        Float { error: if overflows { f64::INFINITY } else { whole.error + flushed }, ..whole }
    }
}

impl Float {
    /// A value that the device has exactly.
    pub fn exact(value: f64) -> Float {
        Float { value, magnitude: value.abs(), error: 0.0 }
    }

    fn known(value: f64, error: f64) -> Float {
        Float { value, magnitude: value.abs(), error }
    }

    /// The value as a device would hold it in a dtype.
    pub fn rounded(self, dtype: DType) -> Float {
        let (u, tiny) = unit(dtype);
        // A small whole number is one of the dtype.
        if self.error == 0.0 && self.value.fract() == 0.0 && self.value.abs() <= 1.0 / u {
            return self;
        }
        Float { error: self.error + u * (self.value.abs() + self.error) + tiny, ..self }.held(self.value, dtype)
    }

    /// A result in a dtype, of which the device has had numbers as large as `most`: beyond the largest, nothing can be said.
    fn held(self, most: f64, dtype: DType) -> Float {
        let overflows = self.value.is_finite() && most.abs() + self.error > largest(dtype);
        Float { error: if overflows { f64::INFINITY } else { self.error }, ..self }
    }

    /// A function of one value, computed in a dtype.
    pub fn unary(self, op: Unary, dtype: DType) -> Float {
        let (x, e) = (self.value, self.error);
        let value = unary(op, x);
        match op {
            Unary::Neg | Unary::Not | Unary::IsNan | Unary::Index => Float { value, ..self },
            Unary::Abs => Float { value, ..self },
            Unary::Sign => self.step(value, x.abs()),
            Unary::Floor | Unary::Ceil | Unary::Trunc => self.step(value, (x - x.round()).abs()),
            Unary::Fract => Float { error: self.step(value, (x - x.round()).abs()).error + e, ..Float::known(value, e) },
            Unary::Round => self.step(value, (x - x.floor() - 0.5).abs()),
            _ => Float::known(value, spread(op, x, e) + own(op, x, value, dtype)).held(value, dtype),
        }
    }

    /// A step function: exact as long as the operand's error does not reach a jump, `distance` away.
    fn step(self, value: f64, distance: f64) -> Float {
        let error = if self.error == 0.0 || self.error < distance { 0.0 } else { f64::INFINITY };
        Float::known(value, error)
    }

    /// A function of two values, computed in a dtype.
    pub fn binary(self, op: Binary, other: Float, dtype: DType) -> Float {
        let result = self.bounded(op, other, dtype);
        // 0 times an infinite bound is no bound either.
        let result = Float { error: if result.error.is_nan() { f64::INFINITY } else { result.error }, ..result };
        match op {
            Binary::Min | Binary::Max => result,
            Binary::Add | Binary::Sub => result.held(result.magnitude, dtype),
            _ => result.held(result.value, dtype),
        }
    }

    fn bounded(self, op: Binary, other: Float, dtype: DType) -> Float {
        let (a, b) = (self, other);
        let (u, tiny) = unit(dtype);
        match op {
            Binary::Add | Binary::Sub => {
                let value = if op == Binary::Add { a.value + b.value } else { a.value - b.value };
                // An infinity that the device has, too, stays one.
                let exact = |x: Float, other: Float| x.value.is_infinite() && x.error == 0.0 && other.error.is_finite();
                if value.is_infinite() && (exact(a, b) || exact(b, a)) {
                    return Float::known(value, 0.0);
                }
                let magnitude = a.magnitude + b.magnitude;
                Float { value, magnitude, error: a.error + b.error + u * (magnitude + a.error + b.error) + tiny }
            }
            Binary::Mul => {
                let value = a.value * b.value;
                // Of what is surely not 0, too.
                let exact = |x: Float, other: Float| x.value.is_infinite() && x.error == 0.0 && other.value.abs() > other.error;
                if exact(a, b) || exact(b, a) {
                    return Float::known(value, 0.0);
                }
                // Nothing is rounded of a product with a zero.
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
                // A side that no error makes the chosen one does not make it less certain: an identity, say.
                let chosen = |side: &&Float| side.value == value || (side.value - value).abs() <= a.error + b.error;
                let most = |of: fn(&Float) -> f64| [&a, &b].into_iter().filter(chosen).map(of).fold(0.0, f64::max);
                if value.is_nan() || a.value.is_nan() || b.value.is_nan() {
                    return Float::known(value, a.error.max(b.error));
                }
                Float { value, magnitude: most(|side| side.magnitude).max(value.abs()), error: most(|side| side.error) }
            }
            Binary::Rem => {
                let quotient = a.binary(Binary::Div, b, dtype);
                let whole = quotient.unary(Unary::Trunc, dtype);
                a.binary(Binary::Sub, b.binary(Binary::Mul, whole, dtype), dtype)
            }
            Binary::Pow => {
                let exponent = a.unary(Unary::Log2, dtype).binary(Binary::Mul, b, dtype);
                Float { value: a.value.powf(b.value), ..exponent.unary(Unary::Exp2, dtype) }
            }
            // Vulkan allows 4096 ULP; and its slope is at most 1 over the distance from the origin.
            Binary::Atan2 => {
                let value = a.value.atan2(b.value);
                let radius = (a.value.hypot(b.value) - a.error - b.error).max(0.0);
                Float::known(value, (a.error + b.error) / radius + 8192.0 * u * value.abs() + tiny)
            }
            _ => Float::known(f64::NAN, f64::INFINITY),
        }
    }
}

/// The function in f64.
fn unary(op: Unary, f: f64) -> f64 {
    match op {
        Unary::Neg => -f,
        // Integers have no rounding, and are not here.
        Unary::Not | Unary::IsNan | Unary::Index | Unary::CountOnes | Unary::LeadingZeros | Unary::TrailingZeros => f,
        Unary::Abs => f.abs(),
        Unary::Sign => f.signum(),
        Unary::Floor => f.floor(),
        Unary::Ceil => f.ceil(),
        Unary::Round => f.round(),
        Unary::Trunc => f.trunc(),
        Unary::Fract => f.fract(),
        Unary::Sqrt => f.sqrt(),
        Unary::InverseSqrt => 1.0 / f.sqrt(),
        Unary::Exp => f.exp(),
        Unary::Exp2 => f.exp2(),
        Unary::Ln => f.ln(),
        Unary::Log2 => f.log2(),
        Unary::Sin => f.sin(),
        Unary::Cos => f.cos(),
        Unary::Tan => f.tan(),
        Unary::Asin => f.asin(),
        Unary::Acos => f.acos(),
        Unary::Atan => f.atan(),
        Unary::Sinh => f.sinh(),
        Unary::Cosh => f.cosh(),
        Unary::Tanh => f.tanh(),
        Unary::Asinh => f.asinh(),
        Unary::Acosh => f.acosh(),
        Unary::Atanh => f.atanh(),
        Unary::Erf => erf(f),
    }
}

/// How far the result moves when the operand moves by `e`: the larger of both sides, as these functions are monotone or
/// have slopes of at most 1 where they are not.
fn spread(op: Unary, x: f64, e: f64) -> f64 {
    if e == 0.0 {
        return 0.0;
    }
    if matches!(op, Unary::Sin | Unary::Cos) {
        return e;
    }
    let y = unary(op, x);
    let (low, high) = ((unary(op, x - e) - y).abs(), (unary(op, x + e) - y).abs());
    let most = low.max(high);
    if low.is_nan() || high.is_nan() { f64::INFINITY } else { most }
}

/// What the function itself may be off by.
fn own(op: Unary, x: f64, y: f64, dtype: DType) -> f64 {
    let (u, tiny) = unit(dtype);
    let ulp = 2.0 * u;
    let relative = |n: f64| n * ulp * y.abs() + tiny;
    match op {
        Unary::Exp | Unary::Exp2 if y == 0.0 => tiny,
        Unary::Exp | Unary::Exp2 => relative(3.0 + 2.0 * x.abs()),
        Unary::Ln | Unary::Log2 if (0.5..=2.0).contains(&x) => 2f64.powi(if dtype == DType::F16 { -7 } else { -21 }),
        Unary::Ln | Unary::Log2 => relative(3.0),
        Unary::Sqrt | Unary::InverseSqrt => relative(5.0),
        Unary::Sin | Unary::Cos => 2f64.powi(if dtype == DType::F16 { -7 } else { -11 }),
        Unary::Tan => 2f64.powi(-10) * (1.0 + y * y),
        // What the language promises. That of f16 is taken in f32, and rounded.
        Unary::Erf => relative(if dtype == DType::F16 { 1.0 } else { 4.0 }),
        Unary::Asin | Unary::Acos | Unary::Atan => 4096.0 * ulp * (1.0 + y.abs()),
        // Made of exp, log and sqrt.
        _ => ulp * 64.0 * (1.0 + y.abs()) * (1.0 + x.abs()) + tiny,
    }
}
