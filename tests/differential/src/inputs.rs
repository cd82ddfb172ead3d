//! The values of tensors and scalars.

use fastrand::Rng;
use half::f16;
use tilewright_dsl::algorithm::evaluate::Value;
use tilewright_launch::DType;

/// The kinds of an input's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Floats in -1..1, integers in -100..100 (or 0..100).
    Small,
    /// Integers of all bits, and floats with NaN, infinities and both zeros among them.
    Wild,
    /// Whole numbers in `0..n`: indices.
    Below(i64),
    /// Floats in 1/2..2, for divisors and operands of logarithms.
    Positive,
}

/// Returns a random value that is exact in its dtype.
pub fn random_value(dtype: DType, fill: Fill, random: &mut Rng) -> Value {
    const ODD: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -2.5];
    match (dtype, fill) {
        (DType::Bool, _) => Value::Bool(random.bool()),
        (DType::I32 | DType::U32, Fill::Below(n)) => Value::Int(random.i64(0..n.max(1))),
        (DType::I32, Fill::Wild) => {
            let any = random.i32(..);
            Value::Int(i64::from(random.choice([any, i32::MIN, i32::MAX, 0, -1, 3]).unwrap_or(0)))
        }
        (DType::U32, Fill::Wild) => {
            let any = random.u32(..);
            Value::Int(i64::from(random.choice([any, u32::MAX, 0, 5]).unwrap_or(0)))
        }
        (dtype, Fill::Below(n)) if dtype.is_float() => Value::float(random.i64(0..n.max(1)) as f64),
        (DType::I32, _) => Value::Int(random.i64(-100..=100)),
        (DType::U32, _) => Value::Int(random.i64(0..=100)),
        (_, Fill::Wild) if random.u8(..4) == 0 => Value::float(random.choice(ODD).unwrap_or(0.0)),
        (dtype, fill) => {
            let value = if fill == Fill::Positive { random.f64() * 1.5 + 0.5 } else { random.f64() * 2.0 - 1.0 };
            Value::float(if dtype == DType::F16 { f16::from_f64(value).to_f64() } else { f64::from(value as f32) })
        }
    }
}
