//! Elements as bytes, for files and other libraries whose element type is known at run time.

use super::AnyTensor;
use super::element::{Element, reserved, zeros};
use super::elements;
use crate::device::Device;
use crate::error::{Error, Result};
use std::borrow::Cow;
use tilewright_launch::DType;

/// Returns the bytes of an element on the host: those in device memory, except that a `bool` is one byte.
pub(super) fn element_bytes(dtype: DType) -> usize {
    if dtype == DType::Bool { 1 } else { dtype.bytes() as usize }
}

impl Device {
    /// Creates a row-major tensor from the bytes of its elements, in the host's byte order. A `bool` is one byte, 0 or 1. The bytes need no
    /// alignment, so they can be a part of a file.
    ///
    /// ```
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let file = [7, 0, 1, 0xff, 0xff];
    /// let tensor = device.upload_bytes(tilewright::DType::I16, [2], &file[1..])?;
    /// assert_eq!(tensor.download::<i16>()?, [256, -1]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Bytes`] if the number of bytes is not the shape's, or the byte of a `bool` is neither 0 nor 1.
    pub fn upload_bytes(&self, dtype: DType, shape: impl AsRef<[usize]>, bytes: &[u8]) -> Result<AnyTensor> {
        let shape = shape.as_ref();
        let wanted = elements(shape)? as u64 * element_bytes(dtype) as u64;
        let wrong = |reason: String| Error::Bytes { dtype, shape: shape.to_vec(), reason };
        if wanted != bytes.len() as u64 {
            return Err(wrong(format!("it has {wanted} bytes, but there are {}", bytes.len())));
        }
        let bytes = match dtype {
            DType::Bool => {
                if let Some((at, byte)) = bytes.iter().enumerate().find(|(_, byte)| **byte > 1) {
                    return Err(wrong(format!("byte {at} is {byte}, but a bool is 0 or 1")));
                }
                let mut values = reserved(bytes.len())?;
                values.extend(bytes.iter().map(|byte| *byte != 0));
                Cow::Owned(bool::to_device(&values)?.into_owned())
            }
            _ => Cow::Borrowed(bytes),
        };
        let tensor = self.unwritten(dtype, shape, &super::upload::named(dtype, shape))?;
        tensor.fill_bytes(&bytes)?;
        Ok(tensor)
    }
}

impl AnyTensor {
    /// Copies the elements to the host as bytes, in row-major order and in the host's byte order. A `bool` is one byte, 0 or 1.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if they do not fit the host's memory.
    pub fn download_bytes(&self) -> Result<Vec<u8>> {
        if self.dtype() == DType::Bool {
            let values = self.download::<bool>()?;
            let mut bytes = reserved(values.len())?;
            bytes.extend(values.into_iter().map(u8::from));
            return Ok(bytes);
        }
        self.check_ready()?;
        let each = element_bytes(self.dtype());
        let mut places: Vec<u8> = zeros(self.places().saturating_mul(each))?;
        self.read(&mut places)?;
        let Some(layout) = self.layout() else { return Ok(places) };
        let mut elements = reserved(self.len().saturating_mul(each))?;
        let of = |at: usize| places.get(at * each..(at + 1) * each).unwrap_or_default();
        layout.places(self.shape()).for_each(|at| elements.extend_from_slice(of(at)));
        Ok(elements)
    }
}
