//! The element types of tensors, on the host and in device memory.

use crate::error::{Error, Result};
use half::{bf16, f16};
use std::borrow::Cow;
use tilewright_launch::DType;

mod sealed {
    pub trait Sealed {}
}

/// An element of a tensor.
///
/// All types but `bool` have the same representation in device memory as on the host. In device memory, a `bool` is a 32-bit word
/// that is 0 or 1.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;

    /// Returns the bytes of these elements in device memory.
    #[doc(hidden)]
    fn to_device(values: &[Self]) -> Result<Cow<'_, [u8]>>;

    /// Reads `count` elements with `read`, which fills a slice with bytes of device memory.
    #[doc(hidden)]
    fn from_device(count: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<Self>>;

    /// Overwrites elements with those that `read` copies from device memory. `read` fills a slice with bytes.
    #[doc(hidden)]
    fn overwrite(values: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()>;

    /// Returns the 32 bits in which a scalar of this type is passed to a kernel.
    #[doc(hidden)]
    fn scalar_bits(self) -> u32;
}

/// Returns an empty list with this capacity, if the host has the memory.
pub(crate) fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| lacking::<T>(count))?;
    Ok(list)
}

/// Returns `count` zeros on the host. They usually cost no time until they are accessed.
pub(crate) fn zeros<T: bytemuck::Zeroable>(count: usize) -> Result<Vec<T>> {
    bytemuck::allocation::try_zeroed_vec(count).map_err(|()| lacking::<T>(count))
}

fn lacking<T>(count: usize) -> Error {
    Error::OutOfMemory { what: format!("{} bytes of the host's memory", count as u128 * size_of::<T>() as u128) }
}

macro_rules! plain {
    ($($t:ty = $dtype:ident, |$x:ident| $bits:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;

            fn to_device(values: &[Self]) -> Result<Cow<'_, [u8]>> {
                Ok(Cow::Borrowed(bytemuck::cast_slice(values)))
            }

            fn from_device(count: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<Self>> {
                let mut values: Vec<$t> = zeros(count)?;
                Self::overwrite(&mut values, read)?;
                Ok(values)
            }

            fn overwrite(values: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
                read(bytemuck::cast_slice_mut(values))
            }

            fn scalar_bits(self) -> u32 {
                let $x = self;
                $bits
            }
        }
    )*};
}

plain! {
    f32 = F32, |x| x.to_bits();
    f16 = F16, |x| x.to_f32().to_bits();
    bf16 = BF16, |x| x.to_f32().to_bits();
    i32 = I32, |x| x.cast_unsigned();
    u32 = U32, |x| x;
    i16 = I16, |x| i32::from(x).cast_unsigned();
    u16 = U16, |x| u32::from(x);
    i8 = I8, |x| i32::from(x).cast_unsigned();
    u8 = U8, |x| u32::from(x);
    // Kernels do not have scalars of this type.
    i64 = I64, |x| DType::I64.element(x) as u32;
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn to_device(values: &[Self]) -> Result<Cow<'_, [u8]>> {
        let mut bytes = reserved(size_of_val(values).saturating_mul(4))?;
        bytes.extend(values.iter().flat_map(|&b| u32::from(b).to_ne_bytes()));
        Ok(Cow::Owned(bytes))
    }

    fn from_device(count: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<Self>> {
        let words = u32::from_device(count, read)?;
        let mut values = reserved(count)?;
        values.extend(words.into_iter().map(|w| w != 0));
        Ok(values)
    }

    fn overwrite(values: &mut [Self], read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
        let words = u32::from_device(values.len(), read)?;
        values.iter_mut().zip(words).for_each(|(value, word)| *value = word != 0);
        Ok(())
    }

    fn scalar_bits(self) -> u32 {
        u32::from(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_travel_as_32_bits() {
        assert_eq!(f16::from_f32(0.5).scalar_bits(), 0.5f32.to_bits());
        assert_eq!(bf16::from_f32(-2.0).scalar_bits(), (-2.0f32).to_bits());
        assert_eq!((-1i8).scalar_bits(), u32::MAX);
        assert_eq!(255u8.scalar_bits(), 255);
        assert_eq!(i32::MIN.scalar_bits(), 1 << 31);
        assert_eq!([true.scalar_bits(), false.scalar_bits()], [1, 0]);
    }

    #[test]
    fn a_truth_value_is_a_word_and_any_word_but_0_is_true() {
        let bytes = bool::to_device(&[true, false]).expect("there is memory");
        assert_eq!(bytes.as_ref(), bytemuck::cast_slice::<u32, u8>(&[1, 0]));
        let read = |bytes: &mut [u8]| {
            bytes.copy_from_slice(bytemuck::cast_slice(&[0u32, 1, 256]));
            Ok(())
        };
        assert_eq!(bool::from_device(3, read).expect("there is memory"), [false, true, true]);
    }

    #[test]
    fn elements_for_which_the_host_has_no_room_are_an_error() {
        for count in [usize::MAX, usize::MAX / 4, usize::MAX / 8] {
            let error = f32::from_device(count, |_| unreachable!("there is nothing to fill")).expect_err("far too many");
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
        }
        let error = reserved::<u64>(1 << 61).expect_err("far too many").to_string();
        assert_eq!(error, "out of memory: 18446744073709551616 bytes of the host's memory");
    }
}
