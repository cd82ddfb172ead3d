//! The arguments of a launch, with their types known at run time.

use crate::layout::Layout;
use crate::tensor::element::Element;
use crate::tensor::{AnyTensor, Tensor};
use half::{bf16, f16};
use tilewright_launch::DType;

/// One argument of a launch.
#[derive(Debug)]
pub enum Argument<'a> {
    /// A tensor that the kernel reads.
    Read(&'a AnyTensor),
    /// A tensor that the kernel updates in place.
    Update(&'a mut AnyTensor),
    /// A number.
    Scalar(Scalar),
    /// A size that the kernel takes as an argument, `n: dim`.
    Size(usize),
}

/// A scalar argument: its dtype and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    dtype: DType,
    bits: u32,
}

impl Scalar {
    /// The dtype.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The 32 bits in which the scalar is passed to a kernel.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }
}

impl<T: Element> From<T> for Scalar {
    fn from(value: T) -> Self {
        Scalar { dtype: T::DTYPE, bits: value.scalar_bits() }
    }
}

impl From<Scalar> for Argument<'_> {
    fn from(scalar: Scalar) -> Self {
        Argument::Scalar(scalar)
    }
}

impl From<usize> for Argument<'_> {
    fn from(size: usize) -> Self {
        Argument::Size(size)
    }
}

impl<'a> From<&'a AnyTensor> for Argument<'a> {
    fn from(tensor: &'a AnyTensor) -> Self {
        Argument::Read(tensor)
    }
}

impl<'a> From<&'a mut AnyTensor> for Argument<'a> {
    fn from(tensor: &'a mut AnyTensor) -> Self {
        Argument::Update(tensor)
    }
}

impl<'a, T: Element, L: Layout> From<&'a Tensor<T, L>> for Argument<'a> {
    fn from(tensor: &'a Tensor<T, L>) -> Self {
        Argument::Read(tensor.as_any())
    }
}

impl<'a, T: Element, L: Layout> From<&'a mut Tensor<T, L>> for Argument<'a> {
    fn from(tensor: &'a mut Tensor<T, L>) -> Self {
        Argument::Update(tensor.as_any_mut())
    }
}

macro_rules! scalars {
    ($($t:ty),*) => {$(
        impl From<$t> for Argument<'_> {
            fn from(value: $t) -> Self {
                Argument::Scalar(Scalar::from(value))
            }
        }
    )*};
}

scalars!(f32, f16, bf16, i32, u32, i8, u8, bool);
