//! Tensors: dense, row-major, in the memory of a device.

use crate::argument::Argument;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::memory::{Memory, allocated};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use tilewright_launch::DType;

/// A tensor whose element type is known at run time.
pub struct AnyTensor {
    device: Device,
    memory: Arc<Memory>,
    dtype: DType,
    shape: Vec<usize>,
}

/// The number of elements of a shape, if it is one that index arithmetic of 32 bits can reach.
pub(crate) fn elements(shape: &[usize]) -> Result<usize> {
    const LIMIT: u128 = i32::MAX as u128;
    let count = if shape.contains(&0) { 0 } else { shape.iter().fold(1u128, |n, &d| n.saturating_mul(d as u128)) };
    if count > LIMIT {
        let size = u64::try_from(count).unwrap_or(u64::MAX);
        return Err(Error::TooLarge { what: format!("the elements of shape {shape:?}"), size, limit: LIMIT as u64 });
    }
    Ok(count as usize)
}

impl AnyTensor {
    /// A tensor in memory that has its size.
    pub(crate) fn new(device: Device, memory: Arc<Memory>, dtype: DType, shape: Vec<usize>) -> AnyTensor {
        AnyTensor { device, memory, dtype, shape }
    }

    /// Elements per dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The device on which it lies.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its bytes in device memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.len() as u64 * u64::from(self.dtype.bytes())
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The same memory under another shape of as many elements.
    ///
    /// What is written through one is seen through the other. A launch refuses to write memory that another of its arguments
    /// shares.
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<AnyTensor> {
        let shape = shape.as_ref();
        let wanted = elements(shape)?;
        if wanted != self.len() {
            return Err(Error::Elements { shape: shape.to_vec(), wanted: wanted.to_string(), got: self.len() });
        }
        Ok(AnyTensor { device: self.device.clone(), memory: self.memory.clone(), dtype: self.dtype, shape: shape.to_vec() })
    }

    /// Copies the elements to the host, row-major. The dtype is checked.
    pub fn download<T: Element>(&self) -> Result<Vec<T>> {
        self.check_dtype::<T>()?;
        self.memory.check_ready(0, || format!("the tensor of shape {:?}", self.shape))?;
        let _access = self.memory.read();
        T::from_device(
            self.len(),
            |bytes| if bytes.is_empty() { Ok(()) } else { self.device.backend().read(self.memory.buffer(), bytes) },
        )
    }

    /// Overwrites all elements, row-major. The dtype is checked.
    pub fn write<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.check_dtype::<T>()?;
        if values.len() != self.len() {
            return Err(Error::Elements { shape: self.shape.clone(), wanted: self.len().to_string(), got: values.len() });
        }
        self.memory.check_ready(0, || format!("the tensor of shape {:?}", self.shape))?;
        let _access = self.memory.write();
        let bytes = T::to_device(values);
        if bytes.is_empty() { Ok(()) } else { self.device.backend().write(self.memory.buffer(), &bytes) }
    }

    /// Sets all elements to zero.
    pub(crate) fn clear(&self) -> Result<()> {
        let _access = self.memory.write();
        self.device.backend().clear(self.memory.buffer(), allocated(self.bytes()))
    }

    /// This tensor with its element type in its Rust type.
    pub fn typed<T: Element>(self) -> Result<Tensor<T>> {
        self.check_dtype::<T>()?;
        Ok(Tensor { any: self, element: PhantomData })
    }

    fn check_dtype<T: Element>(&self) -> Result<()> {
        if T::DTYPE == self.dtype { Ok(()) } else { Err(Error::DType { wanted: T::DTYPE, got: self.dtype }) }
    }
}

impl fmt::Debug for AnyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} on {}", self.dtype, self.shape, self.device.info().name)
    }
}

/// A tensor of `T`.
pub struct Tensor<T> {
    any: AnyTensor,
    element: PhantomData<fn() -> T>,
}

impl<T: Element> Tensor<T> {
    /// Elements per dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.any.shape()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.any.len()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// The device on which it lies.
    pub fn device(&self) -> &Device {
        self.any.device()
    }

    /// Copies the elements to the host, row-major.
    pub fn download(&self) -> Result<Vec<T>> {
        self.any.download()
    }

    /// Overwrites all elements, row-major.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.any.write(values)
    }

    /// The same memory under another shape of as many elements; see [`AnyTensor::reshape`].
    pub fn reshape(&self, shape: impl AsRef<[usize]>) -> Result<Tensor<T>> {
        self.any.reshape(shape)?.typed()
    }

    /// This tensor with its element type known at run time only.
    pub fn as_any(&self) -> &AnyTensor {
        &self.any
    }

    /// This tensor with its element type known at run time only, to be written.
    pub fn as_any_mut(&mut self) -> &mut AnyTensor {
        &mut self.any
    }

    /// This tensor with its element type known at run time only.
    pub fn into_any(self) -> AnyTensor {
        self.any
    }
}

impl<T> fmt::Debug for Tensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}

impl<'a, T: Element> From<&'a Tensor<T>> for Argument<'a> {
    fn from(tensor: &'a Tensor<T>) -> Self {
        Argument::Read(&tensor.any)
    }
}

impl<'a, T: Element> From<&'a mut Tensor<T>> for Argument<'a> {
    fn from(tensor: &'a mut Tensor<T>) -> Self {
        Argument::Update(&mut tensor.any)
    }
}
