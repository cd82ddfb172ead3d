//! Tensors in the memory of a device: row-major, or packed for a kernel. Views of them are in [`view`]. Their elements come from slices
//! (`upload`), bytes (`bytes`), files (`npy`) and arrays of the crate `ndarray` (`array`), and return in the same forms.

#[cfg(feature = "ndarray")]
mod array;
mod bytes;
pub(super) mod element;
pub(super) mod host;
mod npy;
pub(super) mod prepared;
mod upload;
pub(super) mod view;

use crate::device::Device;
use crate::device::memory::{Memory, allocated};
use crate::device::region::Region;
use crate::error::{Error, Result};
use crate::exact;
use crate::layout::{Layout, RowMajor};
use element::{Element, reserved};
use prepared::Prepared;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use tilewright_launch::{self as launch, DType};

/// A tensor whose element type is known at run time.
pub struct AnyTensor {
    device: Device,
    memory: Arc<Memory>,
    dtype: DType,
    shape: Vec<usize>,
    /// The offset of its first element in the memory, in elements.
    offset: usize,
    /// The stride of each axis in elements; `None` for a tensor without gaps.
    strides: Option<Vec<usize>>,
    /// `None` if it is row-major.
    layout: Option<Arc<launch::Layout>>,
    /// Data that a kernel precomputed from it.
    prepared: Option<Arc<Prepared>>,
}

/// Returns the number of elements of a shape, or an error if 32-bit index arithmetic cannot reach all of them.
pub(crate) fn elements(shape: &[usize]) -> Result<usize> {
    const LIMIT: u128 = launch::MOST as u128;
    let count = if shape.contains(&0) { 0 } else { shape.iter().fold(1u128, |n, &d| n.saturating_mul(d as u128)) };
    if count > LIMIT {
        let size = u64::try_from(count).unwrap_or(u64::MAX);
        return Err(Error::TooLarge { what: format!("the elements of shape {shape:?}"), size, limit: LIMIT as u64 });
    }
    Ok(count as usize)
}

/// Returns the number of elements of a shape that [`elements`] has checked. The product is not computed if a dimension is 0,
/// because the other dimensions may overflow.
fn count(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().product() }
}

impl AnyTensor {
    /// Creates a tensor that occupies a memory of its size.
    pub(crate) fn new(device: Device, memory: Arc<Memory>, dtype: DType, shape: Vec<usize>) -> AnyTensor {
        AnyTensor { device, memory, dtype, shape, offset: 0, strides: None, layout: None, prepared: None }
    }

    /// Returns the tensor with a packed layout.
    pub(crate) fn packed(self, layout: Option<&launch::Layout>) -> AnyTensor {
        AnyTensor { layout: layout.cloned().map(Arc::new), ..self }
    }

    /// Returns the tensor with data that a kernel precomputed from it.
    pub(crate) fn prepared(&self, prepared: Prepared) -> AnyTensor {
        let shared = self.seen(self.offset, self.shape.clone(), self.strides());
        AnyTensor { prepared: Some(Arc::new(prepared)), ..shared }
    }

    /// Returns a handle of the same tensor.
    pub(crate) fn shared(&self) -> AnyTensor {
        AnyTensor {
            device: self.device.clone(),
            memory: self.memory.clone(),
            shape: self.shape.clone(),
            strides: self.strides.clone(),
            layout: self.layout.clone(),
            prepared: self.prepared.clone(),
            ..*self
        }
    }

    /// Returns a view of this row-major tensor's memory, with this offset, shape and strides. All its elements are elements of this
    /// tensor.
    pub(crate) fn seen(&self, offset: usize, shape: Vec<usize>, strides: Vec<usize>) -> AnyTensor {
        let whole = AnyTensor::new(self.device.clone(), self.memory.clone(), self.dtype, shape);
        let strides = view::settled(&whole.shape, &strides);
        let strides = (strides != view::dense(&whole.shape)).then_some(strides);
        AnyTensor { offset, strides, ..whole }
    }

    /// Returns the data that a kernel precomputed from it.
    pub(crate) fn preparation(&self) -> Option<&Prepared> {
        self.prepared.as_deref()
    }

    /// Returns the order of the elements in memory; `None` is row-major.
    pub fn layout(&self) -> Option<&launch::Layout> {
        self.layout.as_deref()
    }

    /// Checks that the tensor is row-major, for an operation `what` that supports no other layout.
    pub(crate) fn row_major(&self, what: &'static str) -> Result<()> {
        match (&self.layout, &self.prepared) {
            (None, None) => Ok(()),
            (Some(layout), _) => Err(Error::Packed { what, layout: format!("packed as {layout}") }),
            (None, Some(_)) => Err(Error::Packed { what, layout: "prepared".to_owned() }),
        }
    }

    /// Returns the number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// Returns true if the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the tensor's device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the stride of each axis in memory in elements, outermost first. A packed tensor has the same strides as a
    /// row-major one.
    pub fn strides(&self) -> Vec<usize> {
        self.strides.clone().unwrap_or_else(|| view::dense(&self.shape))
    }

    /// Returns the strides, or `None` for a tensor without gaps.
    pub(crate) fn gaps(&self) -> Option<&[usize]> {
        self.strides.as_deref()
    }

    /// Returns the offset of the first element in its memory, in elements: 0, unless the tensor is a view.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns true if the elements are contiguous and in row-major order.
    pub fn is_dense(&self) -> bool {
        self.strides.is_none() && self.layout.is_none()
    }

    /// Returns its bytes in device memory.
    pub(crate) fn region(&self) -> Region {
        let each = self.dtype.bytes();
        match &self.strides {
            Some(strides) => Region::of(self.offset, &self.shape, strides, each),
            None => Region::dense(self.offset as u64 * u64::from(each), self.places() as u64 * u64::from(each)),
        }
    }

    /// Returns the number of elements that its memory has room for, including padding.
    fn places(&self) -> usize {
        let memory = self.layout.as_ref().and_then(|l| l.memory(&self.shape));
        count(memory.as_ref().unwrap_or(&self.shape))
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Copies the elements to the host in row-major order, regardless of their layout or strides. `T` must be the tensor's dtype.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if they do not fit the host's memory.
    pub fn download<T: Element>(&self) -> Result<Vec<T>> {
        self.check_dtype::<T>()?;
        self.check_ready()?;
        let places = T::from_device(self.places(), |bytes| self.read(bytes))?;
        let Some(layout) = &self.layout else { return Ok(places) };
        let mut elements = reserved(self.len())?;
        elements.extend(layout.places(&self.shape).filter_map(|at| places.get(at).copied()));
        Ok(elements)
    }

    /// Copies the elements to a slice in row-major order, regardless of their layout or strides, and allocates no memory for a row-major
    /// tensor or a view. (Elements of `bool` need a temporary list of words.) `T` must be the tensor's dtype, and the slice must have as many
    /// elements as the tensor.
    ///
    /// # Errors
    /// [`Error::DType`] and [`Error::Elements`] leave the slice as it was. Other errors may leave a part of it overwritten.
    pub fn download_into<T: Element>(&self, values: &mut [T]) -> Result<()> {
        self.check_dtype::<T>()?;
        self.check_count(values.len())?;
        self.check_ready()?;
        let Some(layout) = &self.layout else { return T::overwrite(values, |bytes| self.read(bytes)) };
        let places = T::from_device(self.places(), |bytes| self.read(bytes))?;
        let elements = layout.places(&self.shape).filter_map(|at| places.get(at).copied());
        values.iter_mut().zip(elements).for_each(|(value, element)| *value = element);
        Ok(())
    }

    /// Reads the bytes of all places in memory.
    fn read(&self, bytes: &mut [u8]) -> Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.device.read(&self.memory, &self.region(), bytes, || self.described()) }
    }

    /// Checks that the caller has given a number of elements that is the tensor's.
    fn check_count(&self, count: usize) -> Result<()> {
        if count == self.len() {
            return Ok(());
        }
        Err(Error::Elements { shape: self.shape.clone(), wanted: self.len().to_string(), got: count })
    }

    /// Reads all elements, in row-major order, from a device of [exact arithmetic](crate::exact). An integer is the number of
    /// its bits.
    pub fn elements(&self) -> Result<Vec<exact::Element>> {
        self.check_ready()?;
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.device.elements(&self.memory, &self.region(), self.dtype, || self.described())?;
        let Some(layout) = &self.layout else { return Ok(places) };
        Ok(layout.places(&self.shape).filter_map(|at| places.get(at).copied()).collect())
    }

    /// Overwrites all elements, in row-major order. `T` must be the tensor's dtype.
    pub fn write<T: Element>(&mut self, values: &[T]) -> Result<()> {
        self.check_dtype::<T>()?;
        self.row_major("written by the host")?;
        self.check_count(values.len())?;
        self.check_ready()?;
        self.put(values)
    }

    /// Writes all elements of a new tensor that does not share its memory. Afterwards the tensor has contents.
    pub(crate) fn fill<T: Element>(&self, values: &[T]) -> Result<()> {
        self.put(values)?;
        self.memory.set_written();
        Ok(())
    }

    /// Writes all elements of a new tensor, as [`AnyTensor::fill`] does, given as they are in device memory.
    pub(crate) fn fill_bytes(&self, bytes: &[u8]) -> Result<()> {
        self.put_bytes(bytes)?;
        self.memory.set_written();
        Ok(())
    }

    /// Sets all elements of a new tensor that does not share its memory to zero. Afterwards the tensor has contents.
    pub(crate) fn clear(&self) -> Result<()> {
        self.device.clear(&self.memory, allocated(self.region().bytes()), || self.described())?;
        self.memory.set_written();
        Ok(())
    }

    fn put<T: Element>(&self, values: &[T]) -> Result<()> {
        self.put_bytes(&T::to_device(values)?)
    }

    /// Writes all elements, given as they are in device memory.
    fn put_bytes(&self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() { Ok(()) } else { self.device.write(&self.memory, &self.region(), bytes, || self.described()) }
    }

    /// Checks that the tensor has contents.
    fn check_ready(&self) -> Result<()> {
        self.device.reap()?;
        self.memory.check_ready(0, || self.described())
    }

    /// Returns the tensor's description in errors.
    fn described(&self) -> String {
        format!("the tensor of shape {:?}", self.shape)
    }

    /// Returns this tensor with its element type in its Rust type.
    pub fn typed<T: Element>(self) -> Result<Tensor<T>> {
        self.typed_as()
    }

    /// Returns this tensor with its element type and its layout in its Rust type.
    pub fn typed_as<T: Element, L: Layout>(self) -> Result<Tensor<T, L>> {
        self.check_dtype::<T>()?;
        let (wanted, got) = ((L::layout(), L::PREPARED), (self.layout().cloned(), self.prepared.is_some()));
        if wanted != got {
            let show = |(layout, prepared): (Option<launch::Layout>, bool)| match layout {
                Some(layout) => format!("packed as {layout}"),
                None if prepared => "prepared".to_owned(),
                None => "row-major".to_owned(),
            };
            return Err(Error::Layout { wanted: show(wanted), got: show(got) });
        }
        Ok(Tensor { any: self, types: PhantomData })
    }

    fn check_dtype<T: Element>(&self) -> Result<()> {
        if T::DTYPE == self.dtype { Ok(()) } else { Err(Error::DType { wanted: T::DTYPE, got: self.dtype }) }
    }
}

impl fmt::Debug for AnyTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:?} on {}", self.dtype, self.shape, self.device.info().name)?;
        self.layout.as_ref().map_or(Ok(()), |layout| write!(f, " as {layout}"))?;
        self.strides.as_ref().map_or(Ok(()), |strides| write!(f, " by strides {strides:?}"))
    }
}

/// A tensor of elements `T`, in row-major order unless its layout `L` is another.
pub struct Tensor<T, L = RowMajor> {
    any: AnyTensor,
    types: PhantomData<fn() -> (T, L)>,
}

impl<T: Element> Tensor<T> {
    /// Overwrites all elements, in row-major order.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        self.any.write(values)
    }
}

impl<T: Element, L: Layout> Tensor<T, L> {
    /// Returns the number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        self.any.shape()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.any.len()
    }

    /// Returns true if the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Returns the tensor's device.
    pub fn device(&self) -> &Device {
        self.any.device()
    }

    /// Copies the elements to the host in row-major order, regardless of their layout.
    pub fn download(&self) -> Result<Vec<T>> {
        self.any.download()
    }

    /// Copies the elements to a slice in row-major order, regardless of their layout: see [`AnyTensor::download_into`].
    ///
    /// ```
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let tensor = device.upload([2, 2], &[1.0f32, 2.0, 3.0, 4.0])?;
    /// let mut frame = [0.0; 4];
    /// tensor.download_into(&mut frame)?;
    /// assert_eq!(frame, [1.0, 2.0, 3.0, 4.0]);
    /// let error = tensor.download_into(&mut frame[..3]).expect_err("the slice is too short");
    /// assert_eq!(error.to_string(), "shape [2, 2] has 4 elements, but there are 3");
    /// # Ok(())
    /// # }
    /// ```
    pub fn download_into(&self, values: &mut [T]) -> Result<()> {
        self.any.download_into(values)
    }

    /// Returns this tensor as one whose types are known at run time only.
    pub fn as_any(&self) -> &AnyTensor {
        &self.any
    }

    /// Returns this tensor, mutably, as one whose types are known at run time only.
    pub fn as_any_mut(&mut self) -> &mut AnyTensor {
        &mut self.any
    }

    /// Converts this tensor to one whose types are known at run time only.
    pub fn into_any(self) -> AnyTensor {
        self.any
    }
}

impl<T, L> fmt::Debug for Tensor<T, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}
