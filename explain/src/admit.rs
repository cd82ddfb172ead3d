//! Predicts whether a launch would take a program at some sizes, by the runtime's checks of shapes, facts and limits.

use tilewright_dsl::launch::{MOST, Program, Role};

/// Returns the reason for which a launch does not take a program at these dims, whose symbolic dims were solved; `None` if it takes
/// it.
pub(crate) fn refusal(program: &Program, dims: &[i64]) -> Option<String> {
    shapes(program, dims).or_else(|| facts(program, dims)).or_else(|| limits(program, dims))
}

fn shapes(program: &Program, dims: &[i64]) -> Option<String> {
    if let Some((dim, value)) = program.dims.iter().zip(dims).find(|(_, value)| **value > MOST) {
        return Some(format!("`{}` is {value}, and a dim is at most {MOST}", dim.name));
    }
    // Shapes of temporaries follow from the others.
    program.tensors.iter().filter(|tensor| tensor.role != Role::Temporary).find_map(|tensor| {
        let Some(shape) = tensor.shape.iter().map(|size| size.eval(dims)).collect::<Option<Vec<i64>>>() else {
            return Some(format!("64 bits do not hold the shape of `{}`", tensor.name));
        };
        let elements = shape.iter().try_fold(1i64, |all, n| all.checked_mul(*n));
        if shape.iter().any(|n| *n < 0) {
            Some(format!("`{}` would have shape {shape:?}, and a size cannot be negative", tensor.name))
        } else if elements.is_none_or(|n| n > MOST) {
            Some(format!("`{}` would have shape {shape:?}, which is more than {MOST} elements", tensor.name))
        } else {
            None
        }
    })
}

fn facts(program: &Program, dims: &[i64]) -> Option<String> {
    let fails = program.facts.iter().find(|fact| !fact.condition.holds_of_sizes(dims));
    fails.map(|fact| format!("`{}` does not hold", fact.text))
}

fn limits(program: &Program, dims: &[i64]) -> Option<String> {
    let beyond = program.limits.iter().find(|limit| !limit.holds(dims));
    beyond.map(|limit| format!("32 bits do not hold {}", limit.what))
}
