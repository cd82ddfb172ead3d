//! The expected results of a launch: the values of the algorithm, with the bounds of its arithmetic. If a schedule decomposes a
//! stage, devices round as the decomposed algorithm does, so the bounds are taken from it; its values must be the algorithm's.

use std::collections::HashMap;
use tilewright_dsl::algorithm::evaluate::{Given, Tensor, Value, evaluate};
use tilewright_dsl::nest::{BufferId, Program, Space};

/// Returns the values of all tensors of the algorithm.
///
/// # Errors
/// If the kernel or the decomposition is wrong.
pub fn wanted(algorithm: &Program, decomposed: Option<&Program>, given: &Given) -> Result<HashMap<BufferId, Tensor>, String> {
    let mut wanted = evaluate(algorithm, given)?;
    let Some(decomposed) = decomposed else { return Ok(wanted) };
    // Strides are dims of its program, but its values do not depend on them.
    let mut given = given.clone();
    for (id, _) in decomposed.dims.iter().filter(|(_, dim)| dim.derived.is_none()) {
        given.dims.entry(id).or_insert(0);
    }
    let others = evaluate(decomposed, &given)?;
    // Intermediates may differ from the algorithm's.
    let results = |id: &BufferId| matches!(algorithm.buffers[*id].space, Space::Output | Space::Update);
    for (id, tensor) in wanted.iter_mut().filter(|(id, _)| results(id)) {
        let name = &algorithm.buffers[*id].name;
        let other = others.get(id).ok_or_else(|| format!("the decomposed algorithm has no `{name}`"))?;
        for (at, (value, other)) in tensor.values.iter_mut().zip(&other.values).enumerate() {
            let (Value::Float(value), Value::Float(other)) = (value, other) else { continue };
            // If all scores are -inf, the algorithm's exponentials are NaN, and the decomposed sums are 0.
            if value.value.is_nan() {
                *value = *other;
                continue;
            }
            let apart = (value.value - other.value).abs();
            // The coefficients of the transforms are rounded, too.
            let is_same = value.value == other.value;
            if !(is_same || apart <= other.error) {
                return Err(format!("`{name}`[{at}] is {} when decomposed, not {}", other.value, value.value));
            }
            value.error += other.error + if is_same { 0.0 } else { apart };
        }
    }
    Ok(wanted)
}
