//! Creating tensors on a device.

use super::element::Element;
use super::{AnyTensor, Tensor, elements};
use crate::device::Device;
use crate::error::{Error, Result};
use tilewright_launch::DType;

/// The name by which tools show a caller's tensor.
pub(super) fn named(dtype: DType, shape: &[usize]) -> String {
    format!("{dtype}{shape:?}")
}

impl Device {
    /// Creates a row-major tensor with these elements.
    pub fn upload<T: Element>(&self, shape: impl AsRef<[usize]>, values: &[T]) -> Result<Tensor<T>> {
        let shape = shape.as_ref();
        let wanted = elements(shape)?;
        if wanted != values.len() {
            return Err(Error::Elements { shape: shape.to_vec(), wanted: wanted.to_string(), got: values.len() });
        }
        let tensor = self.unwritten(T::DTYPE, shape, &named(T::DTYPE, shape))?;
        tensor.fill(values)?;
        tensor.typed()
    }

    /// Creates a tensor of zeros.
    pub fn zeros<T: Element>(&self, shape: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        self.zeros_any(T::DTYPE, shape)?.typed()
    }

    /// Creates a tensor of zeros, with a dtype known at run time: see [`Device::zeros`].
    pub fn zeros_any(&self, dtype: DType, shape: impl AsRef<[usize]>) -> Result<AnyTensor> {
        let tensor = self.unwritten(dtype, shape.as_ref(), &named(dtype, shape.as_ref()))?;
        tensor.clear()?;
        Ok(tensor)
    }

    /// Creates a tensor without contents. Its memory may hold a dropped tensor's elements, so it cannot be read before it was
    /// written as a whole. A tensor without elements has contents. Tools show the tensor by `name`.
    pub(crate) fn unwritten(&self, dtype: DType, shape: &[usize], name: &str) -> Result<AnyTensor> {
        let bytes = elements(shape)? as u64 * u64::from(dtype.bytes());
        let memory = self.allocate(bytes, name)?;
        if bytes == 0 {
            memory.set_written();
        }
        Ok(AnyTensor::new(self.clone(), memory, dtype, shape.to_vec()))
    }
}
