//! Files of one array in NumPy's format `.npy`: read into a tensor, and written from one.
//!
//! The format is read here, because a header is one line. The crates for it parse all literals of Python, and need a C compiler.

mod header;

use super::bytes::element_bytes;
use super::element::{Element, reserved};
use super::{AnyTensor, Tensor, elements};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::layout::Layout;
use header::{Header, Refusal};
use std::io::{Read, Write};
use tilewright_launch::DType;

/// The bytes that are allocated before any element was read. A file that is shorter than its header says then costs no more.
const FIRST_BYTES: usize = 1 << 26;

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        match refusal {
            Refusal::Io(source) => Error::File { action: "read", source: source.into() },
            Refusal::Content(reason) => unread(reason),
        }
    }
}

fn unread(reason: String) -> Error {
    Error::Npy { action: "read", reason }
}

/// Reverses the bytes of each element.
fn swap(bytes: &mut [u8], each: usize) {
    bytes.chunks_exact_mut(each).for_each(<[u8]>::reverse);
}

/// Returns the elements of an array in row-major order, given with the first index varying fastest.
fn transposed(bytes: &[u8], shape: &[usize], each: usize) -> Result<Vec<u8>> {
    let mut sorted = reserved(bytes.len())?;
    let strides = super::view::dense(&shape.iter().rev().copied().collect::<Vec<_>>());
    let mut index = vec![0usize; shape.len()];
    for _ in 0..bytes.len() / each {
        let at = index.iter().zip(strides.iter().rev()).map(|(i, stride)| i * stride).sum::<usize>() * each;
        sorted.extend_from_slice(bytes.get(at..at + each).unwrap_or_default());
        for (i, extent) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < *extent {
                break;
            }
            *i = 0;
        }
    }
    Ok(sorted)
}

impl Device {
    /// Reads an array of a `.npy` file, NumPy's format, into a row-major tensor of the array's shape. The array's dtype must be `T`, in either
    /// byte order. Arrays in Fortran's order, the first index varying fastest, are brought into row-major order on the host.
    ///
    /// Elements of `float16` are [`f16`](crate::f16). The format lacks bfloat16.
    ///
    /// ```
    /// # fn main() -> tilewright::Result<()> {
    /// # let device = tilewright::Options::new().device("reference").open()?;
    /// let mut file = Vec::new();
    /// device.upload([2, 2], &[1, 2, 3, 4])?.write_npy(&mut file)?;
    /// assert_eq!(device.read_npy::<i32>(&file[..])?.download()?, [1, 2, 3, 4]);
    /// let error = device.read_npy::<f32>(&file[..]).expect_err("they are integers");
    /// assert_eq!(error.to_string(), "cannot read a .npy file: its elements are i32, not f32");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The reader is left after the array, so that several arrays can follow one another. It need not be buffered.
    ///
    /// # Errors
    /// [`Error::Npy`] if the file has other contents, and [`Error::File`] if it cannot be read.
    pub fn read_npy<T: Element>(&self, reader: impl Read) -> Result<Tensor<T>> {
        self.tensor_of_npy(reader, Some(T::DTYPE))?.typed()
    }

    /// Reads an array of a `.npy` file into a tensor of the array's dtype: see [`Device::read_npy`].
    pub fn read_npy_any(&self, reader: impl Read) -> Result<AnyTensor> {
        self.tensor_of_npy(reader, None)
    }

    fn tensor_of_npy(&self, mut reader: impl Read, wanted: Option<DType>) -> Result<AnyTensor> {
        let Header { dtype, swapped, fortran, shape } = Header::read(&mut reader)?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != dtype) {
            return Err(unread(format!("its elements are {dtype}, not {wanted}")));
        }
        let each = element_bytes(dtype);
        let size = elements(&shape)?.saturating_mul(each);
        let mut bytes = reserved(size.min(FIRST_BYTES))?;
        reader.take(size as u64).read_to_end(&mut bytes).map_err(|source| Error::File { action: "read", source: source.into() })?;
        if bytes.len() < size {
            return Err(unread(format!("it ends after {} of the {size} bytes of its elements", bytes.len())));
        }
        if swapped {
            swap(&mut bytes, each);
        }
        if fortran && shape.len() > 1 {
            bytes = transposed(&bytes, &shape, each)?;
        }
        match self.upload_bytes(dtype, &shape, &bytes) {
            Err(Error::Bytes { reason, .. }) => Err(unread(reason)),
            other => other,
        }
    }
}

impl AnyTensor {
    /// Writes the elements as a `.npy` file, NumPy's format: in row-major order, regardless of their layout or strides, and in little-endian
    /// byte order. `numpy.load` reads it.
    ///
    /// # Errors
    /// [`Error::Npy`] if the elements are bfloat16, which the format does not have. [`Error::File`] if writing fails.
    pub fn write_npy(&self, mut writer: impl Write) -> Result<()> {
        let unwritten = |reason| Error::Npy { action: "write", reason };
        let Some(header) = Header::bytes(self.dtype(), self.shape()) else {
            let reason = if self.dtype() == DType::BF16 {
                "the format lacks bf16; convert the elements to f32 by `as f32` in a kernel".to_owned()
            } else {
                format!("the header of {} dimensions is too long", self.shape().len())
            };
            return Err(unwritten(reason));
        };
        let mut bytes = self.download_bytes()?;
        if cfg!(target_endian = "big") {
            swap(&mut bytes, element_bytes(self.dtype()));
        }
        let written = writer.write_all(&header).and_then(|()| writer.write_all(&bytes)).and_then(|()| writer.flush());
        written.map_err(|source| Error::File { action: "write", source: source.into() })
    }
}

impl<T: Element, L: Layout> Tensor<T, L> {
    /// Writes the elements as a `.npy` file, NumPy's format: see [`AnyTensor::write_npy`].
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = tilewright::Device::open()?;
    /// device.zeros::<f32>([3, 4])?.write_npy(std::fs::File::create("zeros.npy")?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn write_npy(&self, writer: impl Write) -> Result<()> {
        self.as_any().write_npy(writer)
    }
}
