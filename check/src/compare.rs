//! Compares a device's result with the evaluation, element by element, within the error bounds of the arithmetic.

use tilewright_dsl::algorithm::evaluate::{Tensor, Value};
use tilewright_launch::DType;

/// The elements of a right result that lack a bound, because a step function's operand is too near a jump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// The elements without a bound whose expected value is finite.
    pub unbounded: usize,
    /// The elements without a bound that differ from the expected value.
    pub different: usize,
}

/// The reason why a result is wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wrong {
    /// The result has this number of elements instead of another one.
    Count {
        /// The expected number.
        wanted: usize,
        /// The number of elements that there are.
        got: usize,
    },
    /// An element is out of its bound. It is the first one.
    Element {
        /// Its position in the row-major result.
        at: usize,
        /// The expected value.
        wanted: Value,
        /// The device's value.
        got: Value,
    },
}

/// Compares a result of a type.
///
/// # Errors
/// If an element is wrong.
pub fn compare(dtype: DType, wanted: &Tensor, got: &[Value]) -> Result<Compared, Wrong> {
    if wanted.values.len() != got.len() {
        return Err(Wrong::Count { wanted: wanted.values.len(), got: got.len() });
    }
    let mut compared = Compared::default();
    for (at, (wanted, got)) in wanted.values.iter().zip(got).enumerate() {
        let is_right = match (wanted, got) {
            (Value::Float(w), Value::Float(g)) => {
                let w = w.rounded(dtype);
                let is_unbounded = !w.error.is_finite();
                let is_same = w.value == g.value || w.value.is_nan() && g.value.is_nan();
                compared.unbounded += usize::from(is_unbounded && w.value.is_finite());
                compared.different += usize::from(is_unbounded && !is_same);
                is_unbounded || is_same || (w.value - g.value).abs() <= w.error
            }
            _ => wanted == got,
        };
        if !is_right {
            return Err(Wrong::Element { at, wanted: *wanted, got: *got });
        }
    }
    Ok(compared)
}
