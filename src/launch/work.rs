//! The dims and shapes of a variant that takes the arguments of a launch, on any device. [`super::plan`] plans the launch from them,
//! [`crate::kernel`] runs it, and [`crate::program`] describes it for runtimes of other programs.

use super::strides::{self, Given};
use super::{check, solve};
use crate::device::Limits;
use crate::device::memory::WIDEST;
use crate::error::{Cause, Error, Refusal, Result};
use crate::tensor::elements;
use tilewright_launch::{Dispatch, Program, Role, Tensor};

/// The limits of a device that a launch depends on. [`Default`] has those that Vulkan 1.1 guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchLimits {
    /// The most workgroups of a dispatch in x, y and z: `maxComputeWorkGroupCount`. A larger grid becomes several pieces.
    pub grid: [u32; 3],
    /// The most bytes of a buffer that is bound by descriptor: `maxStorageBufferRange`.
    pub storage_buffer_bytes: u64,
    /// The alignment in bytes of the offset of such a buffer: `minStorageBufferOffsetAlignment`.
    pub storage_buffer_offset: u64,
}

impl Default for LaunchLimits {
    fn default() -> LaunchLimits {
        LaunchLimits { grid: [65535; 3], storage_buffer_bytes: 1 << 27, storage_buffer_offset: 256 }
    }
}

impl From<&Limits> for LaunchLimits {
    fn from(limits: &Limits) -> LaunchLimits {
        let Limits { grid, storage_buffer_bytes, storage_buffer_offset, .. } = *limits;
        LaunchLimits { grid, storage_buffer_bytes, storage_buffer_offset }
    }
}

/// The arguments of a launch, as far as its work depends on them.
pub(crate) struct Request<'a> {
    /// The shapes of inputs and updates, in order.
    pub(crate) shapes: &'a [&'a [usize]],
    /// The values of the dims that are arguments, in order.
    pub(crate) sizes: &'a [i64],
    /// The bits of the scalars, in order.
    pub(crate) scalars: &'a [u32],
    /// The strides and regions of tensors that are given, indexed as the program's tensors.
    pub(crate) given: &'a [Option<Given<'a>>],
}

/// The dims of a launch, and the shapes of all of the program's tensors.
pub(crate) struct Solved {
    pub(crate) dims: Vec<i64>,
    pub(crate) shapes: Vec<Vec<usize>>,
}

impl Request<'_> {
    /// Returns the dims and shapes, after every check that decides if a variant takes the arguments.
    pub(crate) fn solve(&self, program: &Program, limits: &LaunchLimits) -> Result<Solved, Refusal> {
        let mut dims = solve::solve(program, self.shapes, self.sizes)?;
        let shapes = check::shapes(program, &dims, self.shapes)?;
        strides::strides(program, &mut dims, &shapes, self.given)?;
        check::facts(program, &dims, self.scalars)?;
        if !is_idle(program, &shapes) {
            let has_groups = |dispatch: &Dispatch| dispatch.grid.iter().all(|size| size.eval(&dims) != Some(0));
            let runs = |dispatch: &Dispatch| has_groups(dispatch) && !writes_nothing(dispatch, &shapes);
            check::bytes(program, &shapes, self.given, limits.storage_buffer_bytes, runs)?;
            strides::alignment(program, self.given, limits.storage_buffer_offset, runs)?;
        }
        Ok(Solved { dims, shapes })
    }
}

/// Returns the error of a launch whose arguments no variant takes. Each refusal has the variant's name, and is marked if it comes from
/// a specialized version. `same_parameters` is true if all variants have the same parameters.
pub(crate) fn refused(kernel: &str, refusals: Vec<(bool, String, Refusal)>, same_parameters: bool) -> Error {
    let kernel = kernel.to_owned();
    // Variants with the same parameters share the facts that the kernel needs.
    if let Some((.., needed)) = refusals.iter().find(|(.., refusal)| refusal.cause == Cause::Need)
        && same_parameters
    {
        return Error::Needs { kernel, message: needed.message.clone() };
    }
    // The refusal of a variant's plain version is enough, because its other versions have the same requirements and more.
    let all_specialized = refusals.iter().all(|(specialized, ..)| *specialized);
    let told = refusals.into_iter().filter(|(specialized, ..)| all_specialized || !specialized);
    let refusals: Vec<(String, Refusal)> = told.map(|(_, variant, refusal)| (variant, refusal)).collect();
    match refusals.first() {
        // If the shapes are wrong for all variants in the same way, they are wrong for the kernel.
        Some((_, first)) if first.cause == Cause::Shape && refusals.iter().all(|(_, r)| r == first) => {
            Error::Shape { kernel, message: first.message.clone() }
        }
        _ => Error::NoVariant { kernel, reasons: refusals },
    }
}

/// Returns the shape of a tensor in memory.
pub(crate) fn in_memory(tensor: &Tensor, shape: &[usize]) -> Vec<usize> {
    tensor.layout.as_ref().and_then(|layout| layout.memory(shape)).unwrap_or_else(|| shape.to_vec())
}

/// Returns true if a dispatch reads a tensor.
pub(crate) fn is_read(program: &Program, tensor: usize) -> bool {
    program.dispatches.iter().flat_map(|d| &d.buffers).any(|used| used.reads && used.tensor as usize == tensor)
}

/// Returns true if no tensor that a dispatch writes has elements.
pub(crate) fn writes_nothing(dispatch: &Dispatch, shapes: &[Vec<usize>]) -> bool {
    let mut written = dispatch.buffers.iter().filter(|u| u.writes).map(|u| shapes.get(u.tensor as usize));
    written.all(|shape| shape.is_some_and(|shape| shape.contains(&0)))
}

/// Returns true if no result of a launch has elements.
pub(crate) fn is_idle(program: &Program, shapes: &[Vec<usize>]) -> bool {
    let results = program.tensors.iter().zip(shapes).filter(|(t, _)| matches!(t.role, Role::Output | Role::Update));
    results.into_iter().all(|(_, shape)| shape.contains(&0))
}

/// Returns the number of elements of the memory for a tensor without elements. A read whose index may be out of bounds loads from this memory, and
/// then takes the fill. Its index is 0 in the dimensions of extent 0, and within the extents of the others. It can load a vector.
pub(crate) fn loaded_elements(tensor: &Tensor, shape: &[usize]) -> Result<usize> {
    let loaded: Vec<usize> = in_memory(tensor, shape).into_iter().map(|extent| extent.max(1)).collect();
    Ok(elements(&loaded)?.max((WIDEST / u64::from(tensor.dtype.bytes())) as usize))
}

/// Returns the error for a parameter that does not fit 32 bits.
pub(crate) fn too_large(kernel: &str, dispatch: &Dispatch, size: u64) -> Error {
    let what = format!("a parameter of `{}` of `{}`", dispatch.name, kernel);
    Error::TooLarge { what, size, limit: i32::MAX as u64 }
}

#[cfg(test)]
mod tests {
    use super::super::samples::dim;
    use super::*;
    use tilewright_launch::DType;

    #[test]
    fn tensors_without_elements_are_loaded_from_few() {
        let loaded = |dtype, shape: &[usize]| {
            let dims = (0..shape.len() as u32).map(dim).collect();
            let tensor = Tensor { name: "x".into(), dtype, shape: dims, role: Role::Input, layout: None, strides: None };
            loaded_elements(&tensor, shape).ok()
        };
        // A vector of 16 bytes, or a row.
        assert_eq!([loaded(DType::F32, &[0]), loaded(DType::I16, &[0, 0]), loaded(DType::U8, &[0])], [Some(4), Some(8), Some(16)]);
        assert_eq!([loaded(DType::F32, &[0, 6]), loaded(DType::F32, &[10_000_000, 0])], [Some(6), Some(10_000_000)]);
    }
}
