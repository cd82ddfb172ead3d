//! Checks that precede the launch of a variant: its shapes, facts and limits, and that written tensors do not overlap others.

use super::strides::Given;
use super::{Cause, Refusal, cause_of, text};
use crate::device::Limits;
use crate::device::memory::allocated;
use crate::device::region::Region;
use tilewright_launch::{Addressing, Condition, Dispatch, Feature, MOST, Program, REACH, Role, Tensor};

/// Returns the shapes of all tensors for these dims, and compares them with the given shapes; `given[i]` belongs to
/// `program.tensors[i]`.
pub(crate) fn shapes(program: &Program, dims: &[i64], given: &[&[usize]]) -> Result<Vec<Vec<usize>>, Refusal> {
    let mut shapes = Vec::with_capacity(program.tensors.len());
    for (i, tensor) in program.tensors.iter().enumerate() {
        let eval = |s: &tilewright_launch::Size| s.eval(dims).and_then(|n| usize::try_from(n).ok());
        let Some(shape) = tensor.shape.iter().map(eval).collect::<Option<Vec<usize>>>() else {
            let (name, symbols) = (&tensor.name, text::shape(program, &tensor.shape));
            let values = text::values(program, dims, &tensor.shape);
            let why = match tensor.shape.iter().any(|size| size.divides_by_zero(dims)) {
                true => "which divides by 0",
                false => "and a size cannot be negative",
            };
            return Err(Refusal::new(Cause::Shape, format!("`{name}` would have shape {symbols} with {values}, {why}")));
        };
        match given.get(i) {
            Some(got) => compare(program, dims, i, &shape, got)?,
            None => check_count(&tensor.name, &shape)?,
        }
        shapes.push(shape);
    }
    Ok(shapes)
}

/// Checks that a tensor has the shape that follows from the dims.
pub(crate) fn compare(program: &Program, dims: &[i64], tensor: usize, wanted: &[usize], got: &[usize]) -> Result<(), Refusal> {
    let Some(tensor) = program.tensors.get(tensor).filter(|_| wanted != got) else { return Ok(()) };
    let symbols = text::shape(program, &tensor.shape);
    let values = text::values(program, dims, &tensor.shape);
    let symbolic = if values.is_empty() { String::new() } else { format!("{symbols} = ") };
    Err(Refusal::new(Cause::Shape, format!("`{}` has shape {got:?}, but should have {symbolic}{wanted:?}", tensor.name)))
}

fn check_count(name: &str, shape: &[usize]) -> Result<(), Refusal> {
    match crate::tensor::elements(shape) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(Refusal::new(Cause::Elements, format!("`{name}` would have shape {shape:?}, which is more than {MOST} elements")))
        }
    }
}

/// Checks that each tensor is small enough for the dispatches that run and use it. `by_descriptor` is the device's limit for
/// buffers that are bound by descriptor.
pub(crate) fn bytes(
    program: &Program,
    shapes: &[Vec<usize>],
    given: &[Option<Given<'_>>],
    by_descriptor: u64,
    runs: impl Fn(&Dispatch) -> bool,
) -> Result<(), Refusal> {
    let is_far = program.requires.features.contains(&Feature::Int64);
    for dispatch in program.dispatches.iter().filter(|d| runs(d)) {
        let (most, how) = match dispatch.addressing {
            Addressing::Address if is_far => continue,
            Addressing::Address => (Limits::ADDRESSED_BYTES, "by address in 32 bits; a profile with `int64` allows more"),
            Addressing::Descriptor => (by_descriptor, "by descriptor on this device"),
        };
        for used in &dispatch.buffers {
            let at = used.tensor as usize;
            let Some((tensor, shape)) = program.tensors.get(at).zip(shapes.get(at)) else { continue };
            // The gaps of a view count, too.
            let reach = given.get(at).copied().flatten().map_or(0, |given| given.bytes);
            let size = bytes_of(tensor, shape, used.reads).max(allocated(reach));
            if size > most {
                let name = &tensor.name;
                return Err(Refusal::new(
                    Cause::Bytes,
                    format!("`{name}` has {size} bytes, but at most {most} can be accessed {how}"),
                ));
            }
        }
    }
    Ok(())
}

/// Returns the bytes that a tensor occupies. A tensor that is read occupies memory even if it is empty, because a read whose
/// index may be out of bounds still loads something.
fn bytes_of(tensor: &Tensor, shape: &[usize], is_read: bool) -> u64 {
    let laid = tensor.layout.as_ref().and_then(|l| l.memory(shape));
    let least = usize::from(is_read);
    let elements = laid.as_deref().unwrap_or(shape).iter().fold(1u64, |n, size| n.saturating_mul(*size.max(&least) as u64));
    allocated(elements.saturating_mul(tensor.dtype.bytes().into()).min(u64::MAX - 16))
}

/// Checks the facts and limits of a variant. `scalars` has the bits of each scalar.
pub(crate) fn facts(program: &Program, dims: &[i64], scalars: &[u32]) -> Result<(), Refusal> {
    for fact in &program.facts {
        let (holds, values, cause) = match &fact.condition {
            Condition::Sizes { left, right, .. } => {
                let named = if fact.needed { text::are } else { text::values };
                let cause = cause_of(program, [left, right], Cause::Fact);
                (fact.condition.holds_of_sizes(dims), named(program, dims, [left, right]), cause)
            }
            Condition::Scalar { scalar, .. } => {
                let bits = scalars.get(*scalar as usize).copied().unwrap_or_default();
                let value = program.scalars.get(*scalar as usize).map_or(f64::NAN, |scalar| scalar.value(bits));
                let verb = if fact.needed { "is" } else { "=" };
                (fact.condition.holds_of_scalar(*scalar, value), text::scalar(program, *scalar, value, verb), Cause::Fact)
            }
        };
        if !holds && fact.needed {
            let values = if values.is_empty() { String::new() } else { format!("; {values}") };
            return Err(Refusal::new(Cause::Need, format!("needs `{}`{values}", fact.text)));
        }
        if !holds {
            let with = if values.is_empty() { String::new() } else { format!(" for {values}") };
            return Err(Refusal::new(cause, format!("`{}` does not hold{with}", fact.text)));
        }
    }
    for limit in &program.limits {
        let value = |size: &tilewright_launch::Size| size.eval_wide(dims);
        let held = |n: Option<i128>| n.is_some_and(|n| (i128::from(REACH.0)..=i128::from(REACH.1)).contains(&n));
        let (least, most) = (value(&limit.least), value(&limit.most));
        if let Some(beyond) = [most, least].into_iter().find(|end| !held(*end)) {
            let beyond = beyond.map_or_else(|| "more than 128 bits hold".to_owned(), |n| n.to_string());
            let values = text::values(program, dims, [&limit.most, &limit.least]);
            let with = if values.is_empty() { String::new() } else { format!(", for {values}") };
            let cause = cause_of(program, [&limit.most, &limit.least], Cause::Index);
            return Err(Refusal::new(cause, format!("{} can be {beyond}, and indices have 32 bits{with}", limit.what)));
        }
    }
    Ok(())
}

/// The memory of a tensor, for [`overlap`].
pub(crate) struct TensorMemory<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: Role,
    /// The id of the memory.
    pub(crate) memory: u64,
    /// The part of that memory that the tensor occupies.
    pub(crate) region: &'a Region,
}

/// Finds a written tensor that shares elements with another tensor. Inputs may share elements with each other.
pub(crate) fn overlap<'a>(places: &[TensorMemory<'a>]) -> Option<(&'a str, &'a str)> {
    let written = |p: &TensorMemory<'_>| matches!(p.role, Role::Update | Role::Output);
    places.iter().enumerate().find_map(|(i, a)| {
        let shared = |b: &&TensorMemory<'_>| a.memory == b.memory && (written(a) || written(b)) && a.region.overlaps(b.region);
        let b = places.get(i + 1..)?.iter().find(shared)?;
        Some(if written(a) { (a.name, b.name) } else { (b.name, a.name) })
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples::conv;
    use super::super::solve::solve;
    use super::*;
    use tilewright_launch::{BufferUse, Size};

    #[test]
    fn shapes_of_outputs_follow_from_the_dims() {
        let given: [&[usize]; 2] = [&[1, 9, 9, 3], &[3, 3, 3, 8]];
        let dims = solve(&conv(), &given, &[]).expect("solvable");
        assert_eq!(shapes(&conv(), &dims, &given).expect("consistent")[2], [1, 4, 4, 8]);
    }

    #[test]
    fn a_shape_that_contradicts_another_names_wanted_and_got() {
        let given: [&[usize]; 2] = [&[1, 9, 9, 3], &[3, 3, 4, 8]];
        let dims = solve(&conv(), &given, &[]).expect("solvable");
        let refusal = shapes(&conv(), &dims, &given).expect_err("IC is 3 and 4");
        assert_eq!(refusal.message, "`filter` has shape [3, 3, 4, 8], but should have [3, 3, IC, OC] = [3, 3, 3, 8]");
        assert_eq!(refusal.cause, Cause::Shape);
    }

    #[test]
    fn a_fact_that_fails_names_the_values() {
        let dims = solve(&conv(), &[&[1, 9, 7, 3], &[3, 3, 3, 8]], &[]).expect("solvable");
        assert_eq!(facts(&conv(), &dims, &[]), Err(Refusal::new(Cause::Fact, "`OW % 4 == 0` does not hold for OW = 3")));
    }

    #[test]
    fn a_fact_that_the_kernel_needs_is_said_to_be_one() {
        let mut program = conv();
        program.facts[0].needed = true;
        let dims = solve(&program, &[&[1, 9, 7, 3], &[3, 3, 3, 8]], &[]).expect("solvable");
        assert_eq!(facts(&program, &dims, &[]), Err(Refusal::new(Cause::Need, "needs `OW % 4 == 0`; OW is 3")));
    }

    #[test]
    fn a_limit_is_within_32_bits() {
        let within = solve(&conv(), &[&[1, (1 << 21) - 1, 9, 3], &[3, 3, 3, 8]], &[]).expect("solvable");
        assert_eq!(facts(&conv(), &within, &[]), Ok(()));
        let beyond = solve(&conv(), &[&[1, 1 << 21, 9, 3], &[3, 3, 3, 8]], &[]).expect("solvable");
        let reason = "`n * ih * 1024` can be 2147483648, and indices have 32 bits, for N = 1, IH = 2097152";
        assert_eq!(facts(&conv(), &beyond, &[]), Err(Refusal::new(Cause::Index, reason)));
    }

    #[test]
    fn bytes_are_those_of_dispatches_that_run() {
        let uses = |tensor, reads, writes| BufferUse { tensor, reads, writes, align: 4 };
        let dispatch = |addressing, buffers: &[BufferUse]| Dispatch {
            name: "y".into(),
            spirv: vec![],
            lines: tilewright_launch::Lines::default(),
            local: [1; 3],
            grid: [Size::Const(1), Size::Const(1), Size::Const(1)],
            addressing,
            buffers: buffers.to_vec(),
            params: vec![],
            param_bytes: 0,
            spilled: false,
            constants: vec![],
        };
        let mut program = conv();
        let shapes = |n: usize| [vec![n, 1 << 10], vec![0, 1 << 20, 2], vec![n]];
        let told = |program: &Program, n| bytes(program, &shapes(n), &[], 1 << 22, |_| true).map_err(|r| r.message);
        program.dispatches = vec![dispatch(Addressing::Descriptor, &[uses(0, true, false), uses(2, false, true)])];
        assert_eq!(told(&program, 1 << 10), Ok(()));
        let reason = "`input` has 4198400 bytes, but at most 4194304 can be accessed by descriptor on this device";
        assert_eq!(told(&program, (1 << 10) + 1), Err(reason.into()));
        assert_eq!(bytes(&program, &shapes(1 << 20), &[], 1 << 22, |_| false), Ok(()));
        program.dispatches[0].addressing = Addressing::Address;
        assert_eq!(told(&program, 1 << 20), Ok(()));
        let reason = "`input` has 4294971392 bytes, but at most 4294967296 can be accessed by address in 32 bits; a profile with \
                      `int64` allows more";
        assert_eq!(told(&program, (1 << 20) + 1), Err(reason.into()));
        program.requires.features = vec![Feature::Int64];
        assert_eq!(told(&program, (1 << 20) + 1), Ok(()));
        // A tensor without elements occupies memory if it is read.
        program.dispatches = vec![dispatch(Addressing::Descriptor, &[uses(1, true, false)])];
        assert!(told(&program, 1).is_err());
        program.dispatches = vec![dispatch(Addressing::Descriptor, &[uses(1, false, true)])];
        assert_eq!(told(&program, 1), Ok(()));
    }

    #[test]
    fn only_what_is_written_may_not_overlap() {
        let regions = [0u64, 4, 8].map(|bytes| Region::dense(0, bytes));
        let [none, four, eight] = &regions;
        let behind = Region::dense(4, 4);
        let place = |name, role, memory, region| TensorMemory { name, role, memory, region };
        let (a, b) = (place("a", Role::Input, 1, four), place("b", Role::Input, 1, four));
        assert_eq!(overlap(&[a, b]), None);
        let (a, out) = (place("a", Role::Input, 1, four), place("out", Role::Output, 1, eight));
        assert_eq!(overlap(&[a, out]), Some(("out", "a")));
        let (x, y) = (place("x", Role::Output, 2, four), place("y", Role::Output, 2, four));
        assert_eq!(overlap(&[x, y]), Some(("x", "y")));
        let (none, some) = (place("none", Role::Output, 2, none), place("some", Role::Output, 2, four));
        assert_eq!(overlap(&[none, some]), None);
        let (a, out) = (place("a", Role::Input, 1, four), place("out", Role::Output, 1, &behind));
        assert_eq!(overlap(&[a, out]), None);
    }
}
