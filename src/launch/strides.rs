//! Checks the strides and the alignment of a launch's tensors against the requirements of a variant.

use super::{Cause, Refusal, cause_of, text};
use crate::tensor::view;
use tilewright_launch::{Addressing, Dispatch, Program, Role, Size, Tensor};

/// A tensor that a launch is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) shape: &'a [usize],
    /// The stride of each axis in elements; `None` for a tensor without gaps.
    pub(crate) strides: Option<&'a [usize]>,
    /// The offset in its memory and the length, in bytes.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// True if its memory has a device address, if the device has any.
    pub(crate) has_address: bool,
}

/// Reads the dims that stand for strides from the given tensors, and compares all other strides with those that the variant
/// requires. `given[i]` belongs to `program.tensors[i]`. Tensors that are not given will be created without gaps.
pub(crate) fn strides(
    program: &Program,
    dims: &mut [i64],
    shapes: &[Vec<usize>],
    given: &[Option<Given<'_>>],
) -> Result<(), Refusal> {
    // An output with a wrong shape is reported later.
    let gaps = |n: usize, shape: &[usize]| given.get(n).copied().flatten().filter(|g| g.shape == shape).and_then(|g| g.strides);
    let outer = |t: &Tensor| !matches!(t.role, Role::Temporary | Role::Prepared);
    let tensors = program.tensors.iter().zip(shapes).enumerate().filter(|(_, (t, _))| outer(t));
    // Most tensors have neither gaps nor free strides.
    let told = tensors.filter(|(n, (t, shape))| t.strides.is_some() || gaps(*n, shape).is_some());
    let told: Vec<(&Tensor, &[usize], Vec<usize>)> = told
        .map(|(n, (t, shape))| {
            let strides = gaps(n, shape).map_or_else(|| view::dense(shape), |strides| view::settled(shape, strides));
            (t, shape.as_slice(), strides)
        })
        .collect();
    for (tensor, shape, strides) in &told {
        for axis in 0..shape.len() {
            if let Some(dim) = free(program, tensor, axis).and_then(|d| dims.get_mut(d)) {
                *dim = i64::try_from(read_off(program, tensor, shape, strides, axis)).unwrap_or(i64::MAX);
            }
        }
    }
    for (tensor, shape, strides) in &told {
        compare(program, dims, tensor, shape, strides)?;
        if tensor.role != Role::Input && !view::is_one_to_one(shape, strides) {
            let name = &tensor.name;
            return Err(Refusal::new(Cause::View, format!("`{name}` is written, but several of its elements share an address")));
        }
    }
    Ok(())
}

/// Returns the dim whose value is the stride of this axis. If several axes have the same stride dim, which happens around an axis
/// of one element, only the innermost of them is read.
pub(super) fn free(program: &Program, tensor: &Tensor, axis: usize) -> Option<usize> {
    let (_, rest) = tensor.strides.as_deref()?.split_at_checked(axis)?;
    let (stride, inner) = rest.split_first()?;
    program.free_stride(stride).filter(|dim| !inner.iter().any(|s| program.free_stride(s) == Some(*dim)))
}

/// Returns the stride of an axis whose stride is free. The stride of an axis of one element is arbitrary, so it gets the stride of
/// the next outer axis that depends on it, as in a tensor without gaps.
fn read_off(program: &Program, tensor: &Tensor, shape: &[usize], strides: &[usize], axis: usize) -> usize {
    let is_free = |axis: usize| free(program, tensor, axis).is_some();
    let steps = |axis: &usize| shape.get(*axis) != Some(&1);
    let mut bound = (0..axis).rev().take_while(|outer| !is_free(*outer));
    let by = if steps(&axis) { axis } else { bound.find(steps).unwrap_or(axis) };
    strides.get(by).copied().unwrap_or(1)
}

fn compare(program: &Program, dims: &[i64], tensor: &Tensor, shape: &[usize], has: &[usize]) -> Result<(), Refusal> {
    let wanted = match &tensor.strides {
        None => view::dense(shape),
        Some(sizes) => sizes.iter().map(|s| s.eval(dims).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX)).collect(),
    };
    let mut axes = shape.iter().zip(has).zip(&wanted).enumerate();
    // The stride of an axis of one element does not matter, nor do the strides of a tensor without elements.
    let differs = axes.find(|(_, ((extent, has), wanted))| **extent > 1 && has != wanted).filter(|_| !shape.contains(&0));
    let Some((axis, ((_, has), wanted))) = differs else { return Ok(()) };
    let name = &tensor.name;
    let rest = match &tensor.strides {
        None => format!("the stride of a tensor without gaps; `strided({name})` in the schedule allows others"),
        Some(sizes) => sizes.get(axis).map_or_else(String::new, |size| match size {
            Size::Const(_) => {
                format!("its schedule says `strided` for other axes only; `strided({name}[{axis}])` allows any stride")
            }
            size => text::size(program, size),
        }),
    };
    let cause = cause_of(program, tensor.strides.as_deref().and_then(|sizes| sizes.get(axis)), Cause::View);
    Err(Refusal::new(
        cause,
        format!("`{name}` is a view whose axis {axis} has a stride of {has} elements, but the variant takes {wanted}: {rest}"),
    ))
}

/// Checks that the given tensors are aligned for the loads and stores of the dispatches that run. `by_descriptor` is the alignment
/// that the device requires where it binds buffers.
pub(crate) fn alignment(
    program: &Program,
    given: &[Option<Given<'_>>],
    by_descriptor: u64,
    runs: impl Fn(&Dispatch) -> bool,
) -> Result<(), Refusal> {
    for dispatch in program.dispatches.iter().filter(|d| runs(d)) {
        for used in &dispatch.buffers {
            let at = used.tensor as usize;
            let Some((tensor, given)) = program.tensors.get(at).zip(given.get(at).copied().flatten()) else { continue };
            if dispatch.addressing == Addressing::Address && !given.has_address {
                return Err(Refusal::new(Cause::View, unaddressed(&tensor.name)));
            }
            let words = u64::from(used.align);
            let bound = if dispatch.addressing == Addressing::Descriptor { by_descriptor } else { 1 };
            let wanted = words.max(bound);
            if given.bytes > 0 && !given.start.is_multiple_of(wanted) {
                let (name, start, dtype) = (&tensor.name, given.start, tensor.dtype);
                let why = match words >= bound {
                    true => "the size of its widest load or store".into(),
                    false if given.start.is_multiple_of(words) => {
                        "because this device binds buffers: a schedule for a profile with `address` takes this view".into()
                    }
                    false => format!(
                        "because this device binds buffers: a schedule for a profile with `address` takes multiples of {words} bytes"
                    ),
                };
                let elements = wanted / u64::from(dtype.bytes());
                return Err(Refusal::new(
                    Cause::View,
                    format!(
                        "`{name}` is a view that begins at byte {start} of its memory, but the variant takes multiples of {wanted} \
                     bytes ({elements} elements of {dtype}), {why}"
                    ),
                ));
            }
        }
    }
    Ok(())
}

fn unaddressed(name: &str) -> String {
    format!(
        "`{name}` is in a buffer without a device address, but the variant accesses buffers by address: create the buffer with \
         `BufferUsageFlags::SHADER_DEVICE_ADDRESS`"
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::{conv, dim, lit};
    use super::*;
    use tilewright_launch::{BufferUse, Dim};

    const SHAPES: [&[usize]; 3] = [&[1, 9, 9, 3], &[3, 3, 3, 8], &[1, 4, 4, 8]];

    fn given(n: usize, strides: &[usize], start: u64) -> Vec<Option<Given<'_>>> {
        let one = Given { shape: SHAPES[n], strides: Some(strides), start, bytes: 4, has_address: true };
        (0..SHAPES.len()).map(|m| (m == n).then_some(one)).collect()
    }

    fn told(program: &Program, n: usize, strides: &[usize]) -> Result<Vec<i64>, String> {
        let mut dims = vec![1, 9, 3, 8, 4, 4, 0];
        let shapes = SHAPES.map(<[usize]>::to_vec);
        super::strides(program, &mut dims, &shapes, &given(n, strides, 0)).map_err(|r| r.message)?;
        Ok(dims)
    }

    #[test]
    fn a_variant_that_takes_no_gaps_says_where_there_are_some() {
        assert!(told(&conv(), 0, &[7, 27, 3, 1]).is_ok(), "an axis that never steps");
        let reason = "`input` is a view whose axis 1 has a stride of 54 elements, but the variant takes 27: the stride of a tensor \
                      without gaps; `strided(input)` in the schedule allows others";
        assert_eq!(told(&conv(), 0, &[486, 54, 3, 1]), Err(reason.to_owned()));
    }

    #[test]
    fn a_stride_that_is_a_dim_is_read_off() {
        let mut program = conv();
        program.dims.push(Dim { name: "input.stride(1)".into(), derived: None });
        program.tensors[0].strides = Some(vec![Size::Mul(dim(1).into(), dim(6).into()), dim(6), dim(2), lit(1)]);
        assert_eq!(told(&program, 0, &[243, 54, 3, 1]).map(|dims| dims[6]), Ok(54));
        assert_eq!(told(&program, 1, &[72, 24, 8, 1]).map(|dims| dims[6]), Ok(27), "a stride that is not given is dense");
        let reason = "`input` is a view whose axis 2 has a stride of 6 elements, but the variant takes 3: IC";
        assert_eq!(told(&program, 0, &[243, 54, 6, 1]), Err(reason.to_owned()));
        let reason = "`input` is a view whose axis 3 has a stride of 2 elements, but the variant takes 1: its schedule says \
                      `strided` for other axes only; `strided(input[3])` allows any stride";
        assert_eq!(told(&program, 0, &[243, 54, 3, 2]), Err(reason.to_owned()));
    }

    #[test]
    fn a_stride_that_depends_on_a_free_one_is_a_cause_of_its_own() {
        let mut program = conv();
        program.dims.push(Dim { name: "input.stride(1)".into(), derived: None });
        let mut cause = |inner: Size| {
            program.tensors[0].strides = Some(vec![lit(243), dim(6), inner, lit(1)]);
            let (shapes, mut dims) = (SHAPES.map(<[usize]>::to_vec), vec![1, 9, 3, 8, 4, 4, 0]);
            super::strides(&program, &mut dims, &shapes, &given(0, &[243, 54, 3, 1], 0)).map_err(|refusal| refusal.cause)
        };
        assert_eq!(cause(Size::FloorDiv(dim(6).into(), lit(18).into())), Ok(()));
        assert_eq!(cause(Size::FloorDiv(dim(6).into(), lit(9).into())), Err(Cause::Strides));
        assert_eq!(cause(lit(6)), Err(Cause::View));
    }

    #[test]
    fn alignment_is_what_words_and_device_want() {
        let dispatch = |addressing| Dispatch {
            name: "y".into(),
            spirv: vec![],
            lines: tilewright_launch::Lines::default(),
            local: [1; 3],
            grid: [lit(1), lit(1), lit(1)],
            addressing,
            buffers: vec![BufferUse { tensor: 0, reads: true, writes: false, align: 8 }],
            params: vec![],
            param_bytes: 0,
            spilled: false,
            constants: vec![],
        };
        let mut program = conv();
        let told =
            |program: &Program, start| alignment(program, &given(0, &[243, 27, 3, 1], start), 64, |_| true).map_err(|r| r.message);
        program.dispatches = vec![dispatch(Addressing::Address)];
        assert_eq!((told(&program, 8), told(&program, 0)), (Ok(()), Ok(())));
        let reason = "`input` is a view that begins at byte 12 of its memory, but the variant takes multiples of 8 bytes (2 \
                      elements of f32), the size of its widest load or store";
        assert_eq!(told(&program, 12), Err(reason.to_owned()));
        program.dispatches = vec![dispatch(Addressing::Descriptor)];
        assert_eq!(told(&program, 128), Ok(()));
        let reason = "`input` is a view that begins at byte 8 of its memory, but the variant takes multiples of 64 bytes (16 \
                      elements of f32), because this device binds buffers: a schedule for a profile with `address` takes this view";
        assert_eq!(told(&program, 8), Err(reason.to_owned()));
        let reason = "`input` is a view that begins at byte 12 of its memory, but the variant takes multiples of 64 bytes (16 \
                      elements of f32), because this device binds buffers: a schedule for a profile with `address` takes multiples \
                      of 8 bytes";
        assert_eq!(told(&program, 12), Err(reason.to_owned()));
    }
}
