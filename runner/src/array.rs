//! Moves tensors and scalars between messages and devices.

use crate::message::Array;
use half::{bf16, f16};
use tilewright::{AnyTensor, DType, Device, Result, Scalar};

/// Evaluates an expression with the Rust type of a dtype.
macro_rules! with_type {
    ($dtype:expr, $t:ident => $body:expr, bool => $bool:expr) => {
        match $dtype {
            DType::F32 => {
                type $t = f32;
                $body
            }
            DType::F16 => {
                type $t = f16;
                $body
            }
            DType::BF16 => {
                type $t = bf16;
                $body
            }
            DType::I32 => {
                type $t = i32;
                $body
            }
            DType::U32 => {
                type $t = u32;
                $body
            }
            DType::I16 => {
                type $t = i16;
                $body
            }
            DType::U16 => {
                type $t = u16;
                $body
            }
            DType::I8 => {
                type $t = i8;
                $body
            }
            DType::U8 => {
                type $t = u8;
                $body
            }
            DType::I64 => {
                type $t = i64;
                $body
            }
            DType::Bool => $bool,
        }
    };
}

impl Array {
    /// Returns the bytes of an element in a message. A bool has one.
    pub fn bytes_of(dtype: DType) -> usize {
        if dtype == DType::Bool { 1 } else { dtype.bytes() as usize }
    }

    /// Returns its shape, if the number of bytes agrees with it.
    ///
    /// # Errors
    /// Returns an error if it does not.
    pub fn checked_shape(&self) -> Result<Vec<usize>, String> {
        let shape: Option<Vec<usize>> = self.shape.iter().map(|n| usize::try_from(*n).ok()).collect();
        let count = shape.as_ref().and_then(|s| s.iter().try_fold(Array::bytes_of(self.dtype), |all, n| all.checked_mul(*n)));
        match shape {
            Some(shape) if count == Some(self.bytes.len()) => Ok(shape),
            _ => Err(format!("an array of shape {:?} of {} has {} bytes", self.shape, self.dtype, self.bytes.len())),
        }
    }

    /// Uploads it to a device.
    pub(crate) fn upload(&self, device: &Device) -> Result<AnyTensor, Box<dyn std::error::Error>> {
        let shape = self.checked_shape()?;
        Ok(with_type!(self.dtype, T => device.upload(shape, &bytemuck::pod_collect_to_vec::<u8, T>(&self.bytes))?.into_any(),
            bool => device.upload(shape, &self.bytes.iter().map(|b| *b != 0).collect::<Vec<_>>())?.into_any()))
    }

    /// Downloads it from a device.
    pub(crate) fn download(tensor: &AnyTensor) -> Result<Array> {
        let bytes = with_type!(tensor.dtype(), T => bytemuck::cast_slice(&tensor.download::<T>()?).to_vec(),
            bool => tensor.download::<bool>()?.into_iter().map(u8::from).collect());
        Ok(Array { dtype: tensor.dtype(), shape: tensor.shape().iter().map(|n| *n as u64).collect(), bytes })
    }

    /// Returns its only element.
    pub(crate) fn scalar(&self) -> Result<Scalar, String> {
        self.checked_shape()?;
        if self.bytes.len() != Array::bytes_of(self.dtype) {
            return Err(format!("a scalar of {} elements", self.bytes.len() / Array::bytes_of(self.dtype)));
        }
        Ok(with_type!(self.dtype, T => bytemuck::pod_read_unaligned::<T>(&self.bytes).into(), bool => (self.bytes[0] != 0).into()))
    }

    /// Returns an array of a value that kernels do not compute, so that an element that is not written is noticed.
    pub(crate) fn poison(dtype: DType, shape: &[u64]) -> Result<Array, String> {
        let count = shape.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).and_then(|n| usize::try_from(n).ok());
        let count = count.filter(|n| n.checked_mul(Array::bytes_of(dtype)).is_some_and(|b| b < crate::frame::MOST as usize));
        let count = count.ok_or_else(|| format!("an output of shape {shape:?} is too large for a message"))?;
        let bits = match dtype {
            DType::Bool => 1,
            float if float.is_float() => u64::from(float.to_bits(-12345.0)),
            _ => 0x5a5a_5a5a_5a5a_5a5a,
        };
        let one = &bits.to_le_bytes()[..Array::bytes_of(dtype)];
        Ok(Array { dtype, shape: shape.to_vec(), bytes: one.repeat(count) })
    }
}
