//! Arrays of the crate `ndarray`: the feature `ndarray`.

use super::element::{Element, reserved};
use super::{AnyTensor, Tensor};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::layout::Layout;
use ndarray::{Array, ArrayRef, Dimension, IxDyn};
use std::borrow::Cow;

/// Returns an array's elements in row-major order. Borrows them if they are contiguous and in this order in memory, and copies them otherwise.
fn row_major<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Result<Cow<'_, [T]>> {
    if let Some(elements) = array.as_slice() {
        return Ok(elements.into());
    }
    let mut elements = reserved(array.len())?;
    elements.extend(array.iter().copied());
    Ok(elements.into())
}

impl Device {
    /// Creates a row-major tensor with the shape and the elements of an array, a view, or a part of one. Any strides are right, also negative
    /// ones. If the elements are contiguous and in row-major order, they are uploaded from where they are. Else the host copies them first.
    ///
    /// ```
    /// use ndarray::{array, s};
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let image = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    /// let tensor = device.upload_array(&image)?;
    /// assert_eq!(tensor.shape(), [2, 3]);
    /// let mirrored = device.upload_array(&image.slice(s![.., ..;-1]))?;
    /// assert_eq!(mirrored.download()?, [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn upload_array<T: Element, D: Dimension>(&self, array: &ArrayRef<T, D>) -> Result<Tensor<T>> {
        self.upload(array.shape(), &row_major(array)?)
    }
}

impl AnyTensor {
    /// Copies the elements to a new array in row-major order, regardless of their layout or strides. `T` must be the tensor's dtype, and `D`
    /// have its number of dimensions. `IxDyn` has any number.
    pub fn download_array<T: Element, D: Dimension>(&self) -> Result<Array<T, D>> {
        self.check_dtype::<T>()?;
        let shape = self.shape();
        if let Some(dims) = D::NDIM.filter(|dims| *dims != shape.len()) {
            return Err(self.other_array(match dims {
                1 => "has 1 dimension".to_owned(),
                n => format!("has {n} dimensions"),
            }));
        }
        let elements = self.download()?;
        let array = Array::from_shape_vec(IxDyn(shape), elements).and_then(Array::into_dimensionality);
        array.map_err(|error| self.other_array(format!("cannot have it: {error}")))
    }

    /// Copies the elements to an array, a view, or a part of one, with any strides. `T` must be the tensor's dtype, and the shapes must be
    /// equal. If the array is contiguous and in row-major order, the elements are copied there at once. Else the host copies them twice.
    ///
    /// # Errors
    /// [`Error::DType`] and [`Error::Array`] leave the array as it was. Other errors may leave a part of it overwritten.
    pub fn download_into_array<T: Element, D: Dimension>(&self, array: &mut ArrayRef<T, D>) -> Result<()> {
        self.check_dtype::<T>()?;
        self.check_array(array.shape())?;
        if let Some(elements) = array.as_slice_mut() {
            return self.download_into(elements);
        }
        let elements = self.download()?;
        array.iter_mut().zip(elements).for_each(|(to, element)| *to = element);
        Ok(())
    }

    /// Overwrites all elements with the elements of an array of the same shape, with any strides. `T` must be the tensor's dtype.
    pub fn write_array<T: Element, D: Dimension>(&mut self, array: &ArrayRef<T, D>) -> Result<()> {
        self.check_dtype::<T>()?;
        self.check_array(array.shape())?;
        self.write(&row_major(array)?)
    }

    fn check_array(&self, shape: &[usize]) -> Result<()> {
        if shape == self.shape() { Ok(()) } else { Err(self.other_array(format!("{shape:?}"))) }
    }

    fn other_array(&self, array: String) -> Error {
        Error::Array { shape: self.shape().to_vec(), array }
    }
}

impl<T: Element, L: Layout> Tensor<T, L> {
    /// Copies the elements to a new array in row-major order, regardless of their layout. `D` must have the tensor's number of dimensions.
    ///
    /// ```
    /// use ndarray::{Array2, ArrayD, array};
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let tensor = device.upload([2, 2], &[1, 2, 3, 4])?;
    /// let matrix: Array2<i32> = tensor.download_array()?;
    /// assert_eq!(matrix, array![[1, 2], [3, 4]]);
    /// let any: ArrayD<i32> = tensor.download_array()?;
    /// assert_eq!(any, matrix.into_dyn());
    /// # Ok(())
    /// # }
    /// ```
    pub fn download_array<D: Dimension>(&self) -> Result<Array<T, D>> {
        self.as_any().download_array()
    }

    /// Copies the elements to an array of the same shape: see [`AnyTensor::download_into_array`].
    ///
    /// ```
    /// use ndarray::{Array2, array, s};
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let mut image = Array2::<f32>::zeros((3, 4));
    /// let block = device.upload([2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// block.download_into_array(&mut image.slice_mut(s![1.., ..2]))?;
    /// assert_eq!(image, array![[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0]]);
    /// let error = block.download_into_array(&mut image).expect_err("it is larger");
    /// assert_eq!(error.to_string(), "the tensor has shape [2, 2], and the array [3, 4]");
    /// # Ok(())
    /// # }
    /// ```
    pub fn download_into_array<D: Dimension>(&self, array: &mut ArrayRef<T, D>) -> Result<()> {
        self.as_any().download_into_array(array)
    }
}

impl<T: Element> Tensor<T> {
    /// Overwrites all elements with the elements of an array of the same shape, with any strides.
    pub fn write_array<D: Dimension>(&mut self, array: &ArrayRef<T, D>) -> Result<()> {
        self.as_any_mut().write_array(array)
    }
}
