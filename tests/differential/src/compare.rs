//! Describes wrong elements of a result.

use tilewright_check::{Wrong, compare as check};
use tilewright_dsl::algorithm::evaluate::{Tensor, Value};
use tilewright_dsl::nest::Buffer;

/// Compares a result. Returns the number of elements without a bound.
///
/// # Errors
/// If an element is wrong, the first of them.
pub fn compare(buffer: &Buffer, wanted: &Tensor, got: &[Value]) -> Result<usize, String> {
    let name = &buffer.name;
    match check(buffer.dtype, wanted, got) {
        Ok(compared) => Ok(compared.unbounded),
        Err(Wrong::Count { wanted, got }) => Err(format!("`{name}` has {got} elements, not {wanted}")),
        Err(Wrong::Element { at, wanted, got }) => Err(format!("`{name}`[{at}]: {got:?}, not {wanted:?}")),
    }
}
