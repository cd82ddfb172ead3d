//! Compares a device's result with the evaluation, element by element, within the error bounds of the arithmetic.

use tilewright_dsl::algorithm::evaluate::{Tensor, Value};
use tilewright_dsl::nest::Buffer;

/// Compares a result. Returns the number of elements without a bound, which are those where a step function's operand is too near a
/// jump.
///
/// # Errors
/// If an element is wrong, the first of them.
pub fn compare(buffer: &Buffer, wanted: &Tensor, got: &[Value]) -> Result<usize, String> {
    if wanted.values.len() != got.len() {
        return Err(format!("`{}` has {} elements, not {}", buffer.name, got.len(), wanted.values.len()));
    }
    let mut unknown = 0;
    for (at, (wanted, got)) in wanted.values.iter().zip(got).enumerate() {
        let right = match (wanted, got) {
            (Value::Float(w), Value::Float(g)) => {
                let w = w.rounded(buffer.dtype);
                let vague = w.error.is_infinite() || w.error.is_nan();
                unknown += usize::from(w.value.is_finite() && vague);
                vague || w.value.is_nan() && g.value.is_nan() || w.value == g.value || (w.value - g.value).abs() <= w.error
            }
            _ => wanted == got,
        };
        if !right {
            return Err(format!("`{}`[{at}]: {got:?}, not {wanted:?}", buffer.name));
        }
    }
    Ok(unknown)
}
