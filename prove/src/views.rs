//! Strided tensors: views of larger tensors, whose elements around the view must not change.

use crate::launch::{MOST_ELEMENTS, download, poison, upload, write};
use tilewright::exact::Element;
use tilewright::{AnyTensor, DType, Device, Result};
use tilewright_check::Inputs;
use tilewright_dsl::algorithm::evaluate::{Tensor, Value};
use tilewright_dsl::launch::{Addressing, Program};
use tilewright_dsl::nest;

/// The tensor around a view.
pub(crate) struct Whole {
    dtype: DType,
    whole: AnyTensor,
    /// The same elements as the view that a launch was given.
    view: AnyTensor,
    /// The previous contents of the tensor and of the view.
    before: Vec<Value>,
    poison: Vec<Value>,
}

/// Returns a tensor as a launch of a program takes it: a view with gaps if its strides are free.
pub(crate) fn place(
    device: &Device,
    program: &Program,
    name: &str,
    dtype: DType,
    tensor: &Tensor,
    wholes: &mut Vec<Whole>,
) -> Result<AnyTensor> {
    let strides = program.tensors.iter().find(|t| t.name == name).and_then(|t| t.strides.as_deref());
    let Some(strides) = strides else { return upload(device, dtype, tensor) };
    let free: Vec<bool> = strides.iter().map(|stride| program.free_stride(stride).is_some()).collect();
    // Devices determine the alignment of bound buffers.
    let begins_later = program.dispatches.iter().all(|d| d.addressing == Addressing::Address);
    let (whole, mut view) = with_gaps(device, dtype, &tensor.shape, &free, if begins_later { 8 } else { 0 })?;
    let (before, poison) = (download(dtype, &whole)?, download(dtype, &view)?);
    write(&mut view, dtype, &tensor.values)?;
    let given = view.slice(0, ..)?;
    wholes.push(Whole { dtype, whole, view, before, poison });
    Ok(given)
}

/// True if the tensors around the views of a launch are small enough to be made. Around an empty tensor, gaps can be large.
pub fn fit(program: &Program, inputs: &Inputs, algorithm: &nest::Program) -> bool {
    inputs.shapes.iter().all(|(id, shape)| {
        let tensor = program.tensors.iter().find(|t| t.name == algorithm.buffers[*id].name);
        let Some(strides) = tensor.and_then(|t| t.strides.as_deref()) else { return true };
        let free: Vec<bool> = strides.iter().map(|stride| program.free_stride(stride).is_some()).collect();
        let all = rooms(shape, &free, 8).into_iter().try_fold(1i64, i64::checked_mul);
        free.len() != shape.len() || all.is_some_and(|all| all <= MOST_ELEMENTS)
    })
}

/// Returns the shape of the tensor around a view with gaps. `before` elements precede its rows.
fn rooms(shape: &[i64], free: &[bool], before: i64) -> Vec<i64> {
    let (last, inner) = (shape.len().saturating_sub(1), free.last() == Some(&true));
    let room = |axis: usize| {
        let around = if axis == last && !inner { before + 8 } else { 1 };
        let reach = if axis == last && inner { 2 * shape[axis] } else { shape[axis] };
        if has_gaps(free, axis) { reach + around } else { reach }
    };
    (0..shape.len()).map(room).collect()
}

/// True if an axis has elements around it. It has none if the axis outside of it steps over it without gaps.
fn has_gaps(free: &[bool], axis: usize) -> bool {
    axis == 0 || free[axis - 1]
}

/// Returns a poisoned tensor, and a view of it with gaps in all free axes. The gap around the innermost axis is a multiple of 8
/// elements.
fn with_gaps(device: &Device, dtype: DType, shape: &[i64], free: &[bool], before: i64) -> Result<(AnyTensor, AnyTensor)> {
    let last = shape.len().saturating_sub(1);
    let (all, inner) = (free.iter().all(|free| *free), free.last() == Some(&true));
    let mut rooms = rooms(shape, free, before);
    if all {
        rooms.reverse();
    }
    let whole = upload(device, dtype, &poison(dtype, &rooms))?;
    let mut view = match all {
        true => whole.permute((0..shape.len()).rev().collect::<Vec<_>>())?,
        false => whole.slice(0, ..)?,
    };
    if inner {
        view = view.step_by(last, 2)?;
    }
    for (axis, extent) in shape.iter().enumerate() {
        let begins = axis == last && !inner && has_gaps(free, axis);
        let first = if begins { before as usize } else { 0 };
        view = view.slice(axis, first..first + usize::try_from(*extent).unwrap_or(0))?;
    }
    Ok((whole, view))
}

impl Whole {
    /// Checks that a launch has not changed elements around the view.
    ///
    /// # Panics
    /// If it has.
    pub(crate) fn check(self) -> Result<()> {
        assert!(self.left_intact()?, "an element is written that lies around a view");
        Ok(())
    }

    /// True if a launch has not changed elements around the view.
    fn left_intact(mut self) -> Result<bool> {
        write(&mut self.view, self.dtype, &self.poison)?;
        Ok(download(self.dtype, &self.whole)? == self.before)
    }

    /// True if a launch in exact arithmetic has not changed elements around the view. Bytes around an unknown byte of the view are unknown,
    /// too, because exact arithmetic keeps them in one element. They are not compared.
    pub(crate) fn left_intact_as_known(mut self) -> Result<bool> {
        // Before the view is written again, because that makes its halves of words known, with bits that the launch has left there.
        let elements = self.whole.elements()?;
        write(&mut self.view, self.dtype, &self.poison)?;
        let values = download(self.dtype, &self.whole)?;
        let mut all = elements.iter().zip(values.iter().zip(&self.before));
        Ok(all.all(|(element, (now, before))| matches!(element, Element::Unknown(_)) || now == before))
    }
}
