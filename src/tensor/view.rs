//! Views: tensors that show a part of another tensor's elements, or its axes in another order, in the same memory.
//!
//! A view begins at some element of its memory, and each of its axes has a stride in elements. Views are made by selecting
//! coordinates of an axis and by permuting axes. Therefore no two elements share an address: a stride exceeds the reach of all axes
//! with smaller strides.

use super::element::Element;
use crate::error::{Error, Result};
use crate::tensor::{AnyTensor, Tensor, elements};
use std::ops::{Bound, RangeBounds};

/// Returns the strides of a shape without gaps.
pub(crate) fn dense(shape: &[usize]) -> Vec<usize> {
    let mut strides: Vec<usize> = Vec::with_capacity(shape.len());
    let mut next = 1usize;
    for extent in shape.iter().rev() {
        strides.push(next);
        next = next.saturating_mul((*extent).max(1));
    }
    strides.reverse();
    strides
}

/// Replaces the strides of axes of one element, which do not matter, by the strides without gaps.
pub(crate) fn settled(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    if shape.contains(&0) {
        return dense(shape);
    }
    let mut settled = strides.to_vec();
    let mut next = 1usize;
    for (stride, extent) in settled.iter_mut().zip(shape).rev() {
        if *extent == 1 {
            *stride = next;
        }
        next = stride.saturating_mul(*extent);
    }
    settled
}

/// Returns true if no two elements share an address: each stride exceeds the reach of all axes with smaller strides.
pub(crate) fn is_one_to_one(shape: &[usize], strides: &[usize]) -> bool {
    let mut steps: Vec<(usize, usize)> = strides.iter().copied().zip(shape.iter().copied()).filter(|(_, n)| *n > 1).collect();
    steps.sort_unstable();
    let mut reach = 0usize;
    shape.contains(&0)
        || steps.into_iter().all(|(stride, extent)| {
            let apart = stride > reach;
            reach = reach.saturating_add(stride.saturating_mul(extent - 1));
            apart
        })
}

impl AnyTensor {
    /// Returns a view of the elements with these coordinates in one axis. It shares the tensor's memory, so data that is written
    /// through one can be read through the other. For example, `tensor.slice(0, 2..5)` has rows 2, 3 and 4.
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<AnyTensor> {
        let extent = self.extent("sliced", axis)?;
        let shown = (range.start_bound().cloned(), range.end_bound().cloned());
        let start = match shown.0 {
            Bound::Included(n) => Some(n),
            Bound::Excluded(n) => n.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match shown.1 {
            Bound::Included(n) => n.checked_add(1),
            Bound::Excluded(n) => Some(n),
            Bound::Unbounded => Some(extent),
        };
        let (Some(start), Some(end)) = (start, end) else {
            return Err(self.no_view(format!("the range of axis {axis} does not fit a `usize`")));
        };
        if start > end || end > extent {
            return Err(self.no_view(format!("axis {axis} has {extent} coordinates, so the range {start}..{end} is invalid")));
        }
        let mut shape = self.shape().to_vec();
        if let Some(n) = shape.get_mut(axis) {
            *n = end - start;
        }
        Ok(self.part(axis, start, shape, self.strides()))
    }

    /// Returns a view of every `step`-th coordinate of an axis, from the first on.
    pub fn step_by(&self, axis: usize, step: usize) -> Result<AnyTensor> {
        let extent = self.extent("stepped over", axis)?;
        if step == 0 {
            return Err(self.no_view("a step is at least 1".to_owned()));
        }
        let (mut shape, mut strides) = (self.shape().to_vec(), self.strides());
        if let (Some(n), Some(stride)) = (shape.get_mut(axis), strides.get_mut(axis)) {
            (*n, *stride) = (extent.div_ceil(step), stride.saturating_mul(step));
        }
        Ok(self.part(axis, 0, shape, strides))
    }

    /// Returns a view of the elements at one coordinate of an axis, without that axis. For example, `tensor.select(0, 3)` is
    /// element 3 of a batch.
    pub fn select(&self, axis: usize, at: usize) -> Result<AnyTensor> {
        let extent = self.extent("selected from", axis)?;
        if at >= extent {
            return Err(self.no_view(format!("axis {axis} has {extent} coordinates, so coordinate {at} is out of bounds")));
        }
        let (mut shape, mut strides) = (self.shape().to_vec(), self.strides());
        shape.remove(axis);
        strides.remove(axis);
        Ok(self.part(axis, at, shape, strides))
    }

    /// Returns a view with the axes in another order, outermost first. For example, `matrix.permute([1, 0])` is the transpose.
    pub fn permute(&self, axes: impl AsRef<[usize]>) -> Result<AnyTensor> {
        self.row_major("permuted")?;
        let (axes, strides) = (axes.as_ref(), self.strides());
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.shape().len()) {
            let wanted = format!("each of 0 to {} once", self.shape().len().saturating_sub(1));
            return Err(self.no_view(format!("{axes:?} is not an order of its axes, which names {wanted}")));
        }
        let of = |list: &[usize]| axes.iter().filter_map(|a| list.get(*a).copied()).collect::<Vec<usize>>();
        Ok(self.part(0, 0, of(self.shape()), of(&strides)))
    }

    /// Returns a view that begins at coordinate `first` of an axis.
    fn part(&self, axis: usize, first: usize, shape: Vec<usize>, strides: Vec<usize>) -> AnyTensor {
        let step = self.strides().get(axis).copied().unwrap_or(0);
        // A view without elements begins at 0, because the computed offset may be out of bounds.
        let offset = if shape.contains(&0) { 0 } else { self.offset() + first * step };
        self.seen(offset, shape, strides)
    }

    /// Returns the extent of an axis, after checking that the tensor can be viewed.
    fn extent(&self, what: &'static str, axis: usize) -> Result<usize> {
        self.row_major(what)?;
        self.shape().get(axis).copied().ok_or_else(|| self.no_view(format!("axis {axis} does not exist")))
    }

    fn no_view(&self, message: String) -> Error {
        Error::View { shape: self.shape().to_vec(), message }
    }

    /// Returns a view with another shape that has the same number of elements. A view that has gaps, or whose axes are permuted,
    /// cannot be reshaped.
    ///
    /// Data that is written through one tensor can be read through the other. A launch refuses to write elements that another of
    /// its arguments shares.
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<AnyTensor> {
        self.row_major("reshaped")?;
        let shape = shape.as_ref();
        let wanted = elements(shape)?;
        if wanted != self.len() {
            return Err(Error::Elements { shape: shape.to_vec(), wanted: wanted.to_string(), got: self.len() });
        }
        if !self.is_dense() {
            let strides = self.strides();
            return Err(
                self.no_view(format!("it has strides {strides:?}, but only a row-major tensor without gaps can be reshaped"))
            );
        }
        Ok(self.seen(self.offset(), shape.to_vec(), dense(shape)))
    }
}

impl<T: Element> Tensor<T> {
    /// Returns a view of the elements with these coordinates in one axis. It shares the tensor's memory, so data that is written
    /// through one can be read through the other. For example, `tensor.slice(0, 2..5)` has rows 2, 3 and 4.
    ///
    /// ```
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let matrix = device.upload([2, 4], &[0, 1, 2, 3, 4, 5, 6, 7i32])?;
    /// let columns = matrix.slice(1, 1..3)?;
    /// assert_eq!((columns.shape(), columns.strides()), (&[2, 2][..], vec![4, 1]));
    /// assert_eq!(columns.download()?, [1, 2, 5, 6]);
    /// assert_eq!(columns.permute([1, 0])?.select(0, 1)?.download()?, [2, 6]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A view can be an argument like any tensor. A launch never copies it, so a variant must take its strides and alignment. A
    /// variant whose schedule does not say `strided` takes only tensors without gaps, and wide loads need an offset that is a
    /// multiple of their bytes. The error says which requirement the view does not meet.
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Tensor<T>> {
        self.as_any().slice(axis, range)?.typed()
    }

    /// Returns a view of every `step`-th coordinate of an axis, from the first on: see [`Tensor::slice`].
    pub fn step_by(&self, axis: usize, step: usize) -> Result<Tensor<T>> {
        self.as_any().step_by(axis, step)?.typed()
    }

    /// Returns a view of the elements at one coordinate of an axis, without that axis: see [`Tensor::slice`].
    pub fn select(&self, axis: usize, at: usize) -> Result<Tensor<T>> {
        self.as_any().select(axis, at)?.typed()
    }

    /// Returns a view with the axes in another order, outermost first: see [`Tensor::slice`].
    pub fn permute(&self, axes: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        self.as_any().permute(axes)?.typed()
    }

    /// Returns a view with another shape that has the same number of elements: see [`AnyTensor::reshape`].
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        self.as_any().reshape(shape)?.typed()
    }

    /// Returns the stride of each axis in memory in elements, outermost first.
    pub fn strides(&self) -> Vec<usize> {
        self.as_any().strides()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_never_step_have_any_stride() {
        assert_eq!(dense(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(settled(&[1, 3, 1], &[77, 5, 9]), [15, 5, 1]);
        assert_eq!(settled(&[2, 0, 3], &[9, 9, 9]), [3, 3, 1]);
        assert_eq!(settled(&[], &[]), [0usize; 0]);
    }

    #[test]
    fn strides_that_step_over_each_other_are_one_to_one() {
        assert!(is_one_to_one(&[2, 3], &[3, 1]) && is_one_to_one(&[3, 2], &[1, 3]) && is_one_to_one(&[2, 3], &[10, 3]));
        assert!(!is_one_to_one(&[2, 3], &[2, 1]) && !is_one_to_one(&[2, 2], &[0, 1]));
        assert!(is_one_to_one(&[1, 3], &[0, 1]) && is_one_to_one(&[0, 3], &[0, 0]));
    }
}
