//! Tensors in the host's memory, which a device copies from and to by itself.

use super::element::Element;
use super::{Tensor, elements};
use crate::device::Device;
use crate::device::memory::Memory;
use crate::device::pending::Pending;
use crate::device::region::Region;
use crate::device::submission::Started;
use crate::device::work::Work;
use crate::error::{Error, Result};
use bytemuck::Pod;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// A row-major tensor in the host's memory, pinned for the device. [`Device::host`] creates it.
///
/// A device copies from pinned memory and to it without a staging buffer. [`Tensor::copy_from`] and [`Tensor::copy_to`] do not wait for the
/// copy: it follows the launches that use the tensor, and later launches follow it. [`HostTensor::read`] and [`HostTensor::write`] wait
/// for the copies that use the host tensor.
///
/// Pinned memory is a limited resource of the system. It pays for tensors that are copied again and again. For a single copy,
/// [`Device::upload`] and [`Tensor::download`] are as fast.
///
/// ```
/// # use tilewright::{Device, kernel};
/// # kernel! {
/// #     pub fn twice<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * 2.0; }
/// # }
/// # fn main() -> tilewright::Result<()> {
/// let device = Device::open()?;
/// let twice = device.load(&[twice::DEFAULT])?;
/// let (mut input, mut output) = (device.host::<f32>([3])?, device.host::<f32>([3])?);
/// let mut x = device.zeros::<f32>([3])?;
/// for frame in 1..4u8 {
///     input.write()?.fill(f32::from(frame));
///     x.copy_from(&input)?; // none of these three waits
///     let (y, _) = twice.submit(&x)?;
///     y.copy_to(&mut output)?;
///     assert_eq!(output.read()?, [f32::from(frame) * 2.0; 3]);
/// }
/// # Ok(())
/// # }
/// ```
pub struct HostTensor<T> {
    device: Device,
    shape: Vec<usize>,
    elements: Elements<T>,
}

enum Elements<T> {
    /// Memory that the device maps, its first element, and the last copy to it.
    Pinned(Arc<Memory>, NonNull<T>, Option<Arc<Work>>),
    /// A device without memory of its own copies at once.
    Plain(Vec<T>),
}

// SAFETY: the memory is accessed as elements only through references to the tensor, and elements can be sent and shared.
unsafe impl<T: Send> Send for HostTensor<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostTensor<T> {}

impl Device {
    /// Creates a tensor of zeros in the host's memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system cannot pin as much memory. `Options::memory` does not limit it.
    pub fn host<T: Element + Pod>(&self, shape: impl AsRef<[usize]>) -> Result<HostTensor<T>> {
        let shape = shape.as_ref().to_vec();
        let count = elements(&shape)?;
        let bytes = count as u64 * u64::from(T::DTYPE.bytes());
        let elements = match self.allocate_pinned(bytes, &format!("host {}{shape:?}", T::DTYPE))? {
            None => Elements::Plain(T::from_device(count, |_| Ok(()))?),
            Some(memory) => {
                memory.set_written();
                let missing = || Error::OutOfMemory { what: format!("{bytes} bytes that the host can access") };
                let first = memory.buffer().mapped().ok_or_else(missing)?.cast();
                Elements::Pinned(memory, first, None)
            }
        };
        Ok(HostTensor { device: self.clone(), shape, elements })
    }
}

impl<T: Element + Pod> HostTensor<T> {
    /// Returns the number of elements in each dimension, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        super::count(&self.shape)
    }

    /// Returns true if the tensor is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the device that copies from it and to it.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Waits for the copies to this tensor, and returns its elements.
    ///
    /// # Errors
    /// Returns the error of a copy that has failed, and [`Error::Timeout`] if one has not ended.
    pub fn read(&self) -> Result<&[T]> {
        match &self.elements {
            Elements::Plain(values) => Ok(values),
            Elements::Pinned(memory, first, last) => {
                self.device.access(memory, false, || self.described())?;
                last.as_ref().map_or(Ok(()), |copy| copy.result().map(drop))?;
                // SAFETY: the memory has as many elements, was zeroed, and has any bytes that are valid elements. Copies to it need `&mut
                // self`, and earlier ones have ended.
                Ok(unsafe { std::slice::from_raw_parts(first.as_ptr(), self.len()) })
            }
        }
    }

    /// Waits for the copies from this tensor and to it, and returns its elements.
    ///
    /// # Errors
    /// The same as [`HostTensor::read`].
    pub fn write(&mut self) -> Result<&mut [T]> {
        let (count, described) = (self.len(), self.described());
        match &mut self.elements {
            Elements::Plain(values) => Ok(values),
            Elements::Pinned(memory, first, last) => {
                self.device.access(memory, true, || described)?;
                *last = None;
                // SAFETY: as in `read`; copies from it need a reference, too, and earlier ones have ended.
                Ok(unsafe { std::slice::from_raw_parts_mut(first.as_ptr(), count) })
            }
        }
    }

    fn described(&self) -> String {
        format!("the host tensor of shape {:?}", self.shape)
    }
}

impl<T: Element + Pod> Tensor<T> {
    /// Submits a copy of all elements of a host tensor of the same shape, without waiting for it.
    ///
    /// # Errors
    /// [`Error::HostShape`] if the shapes differ, [`Error::OtherDevice`] if the devices do.
    pub fn copy_from(&mut self, host: &HostTensor<T>) -> Result<Pending> {
        check(self, host)?;
        match &host.elements {
            Elements::Plain(values) => {
                self.write(values)?;
                Ok(Pending::new(host.device.clone(), Started::default()))
            }
            Elements::Pinned(memory, ..) => {
                let any = self.as_any();
                any.check_ready()?;
                let started = submit(host, (memory, &dense(host)), (any.memory(), &any.region()), true)?;
                Ok(Pending::new(host.device.clone(), started))
            }
        }
    }

    /// Submits a copy of all elements to a host tensor of the same shape, without waiting for it.
    ///
    /// # Errors
    /// [`Error::HostShape`] if the shapes differ, [`Error::OtherDevice`] if the devices do.
    pub fn copy_to(&self, host: &mut HostTensor<T>) -> Result<Pending> {
        check(self, host)?;
        if let Elements::Plain(values) = &mut host.elements {
            *values = self.download()?;
            return Ok(Pending::new(host.device.clone(), Started::default()));
        }
        let any = self.as_any();
        any.check_ready()?;
        let started = match &host.elements {
            Elements::Pinned(memory, ..) => submit(host, (any.memory(), &any.region()), (memory, &dense(host)), false)?,
            Elements::Plain(_) => Started::default(),
        };
        if let (Elements::Pinned(.., last), Some(work)) = (&mut host.elements, &started.work) {
            *last = Some(work.clone());
        }
        Ok(Pending::new(host.device.clone(), started))
    }
}

/// Checks that a copy between a tensor and a host tensor is possible.
fn check<T: Element + Pod>(tensor: &Tensor<T>, host: &HostTensor<T>) -> Result<()> {
    if tensor.shape() != host.shape() {
        return Err(Error::HostShape { tensor: tensor.shape().to_vec(), host: host.shape.clone() });
    }
    if tensor.device().is(&host.device) { Ok(()) } else { Err(Error::OtherDevice { what: host.described() }) }
}

fn dense<T: Element + Pod>(host: &HostTensor<T>) -> Region {
    Region::dense(0, host.len() as u64 * u64::from(T::DTYPE.bytes()))
}

fn submit<T: Element + Pod>(
    host: &HostTensor<T>,
    from: (&Arc<Memory>, &Region),
    to: (&Arc<Memory>, &Region),
    keeps: bool,
) -> Result<Started> {
    if host.is_empty() {
        return Ok(Started::default());
    }
    host.device.copy(format!("a copy of {} bytes", dense(host).bytes()), from, to, keeps)
}

impl<T> fmt::Debug for HostTensor<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTensor{:?} for {}", self.shape, self.device.info().name)
    }
}
