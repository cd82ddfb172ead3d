//! The element types of tensors, on this side and in device memory.

use half::{bf16, f16};
use std::borrow::Cow;
use tilewright_launch::DType;

mod sealed {
    pub trait Sealed {}
}

/// An element of a tensor.
///
/// All but `bool` lie in device memory as they do here; a `bool` is there a 32-bit word that is 0 or 1.
pub trait Element: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// Its dtype.
    const DTYPE: DType;

    /// The bytes of these elements in device memory.
    #[doc(hidden)]
    fn to_device(values: &[Self]) -> Cow<'_, [u8]>;

    /// Reads `count` elements by `read`, which fills in bytes of device memory.
    #[doc(hidden)]
    fn from_device<E>(count: usize, read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Vec<Self>, E>;

    /// The 32 bits in which a scalar of this type travels.
    #[doc(hidden)]
    fn scalar_bits(self) -> u32;
}

macro_rules! plain {
    ($($t:ty = $dtype:ident, |$x:ident| $bits:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const DTYPE: DType = DType::$dtype;

            fn to_device(values: &[Self]) -> Cow<'_, [u8]> {
                Cow::Borrowed(bytemuck::cast_slice(values))
            }

            fn from_device<E>(count: usize, read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Vec<Self>, E> {
                let mut values = vec![<$t>::default(); count];
                read(bytemuck::cast_slice_mut(&mut values))?;
                Ok(values)
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
    i8 = I8, |x| i32::from(x).cast_unsigned();
    u8 = U8, |x| u32::from(x);
}

impl sealed::Sealed for bool {}

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn to_device(values: &[Self]) -> Cow<'_, [u8]> {
        Cow::Owned(values.iter().flat_map(|&b| u32::from(b).to_ne_bytes()).collect())
    }

    fn from_device<E>(count: usize, read: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Vec<Self>, E> {
        let mut words = vec![0u32; count];
        read(bytemuck::cast_slice_mut(&mut words))?;
        Ok(words.into_iter().map(|w| w != 0).collect())
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
        assert_eq!(bool::to_device(&[true, false]).as_ref(), bytemuck::cast_slice::<u32, u8>(&[1, 0]));
        let read = |bytes: &mut [u8]| {
            bytes.copy_from_slice(bytemuck::cast_slice(&[0u32, 1, 256]));
            Ok::<(), ()>(())
        };
        assert_eq!(bool::from_device(3, read), Ok(vec![false, true, true]));
    }
}
