//! The element types of tensors and scalars.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An element type. Adding one is a breaking change, because matches on it are meant to be exhaustive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16: the upper half of an [`DType::F32`].
    BF16,
    /// Two's complement, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Two's complement, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// A truth value. In memory it is a 32-bit word that is 0 or 1.
    Bool,
}

impl DType {
    /// Every dtype, in the order in which messages list them.
    pub const ALL: [DType; 8] = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U32, DType::I8, DType::U8, DType::Bool];

    /// Returns the name users write.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::I8 => "i8",
            DType::U8 => "u8",
            DType::Bool => "bool",
        }
    }

    /// Returns the dtype of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Returns the bytes of one element in device memory.
    pub const fn bytes(self) -> u32 {
        match self {
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => 4,
            DType::F16 | DType::BF16 => 2,
            DType::I8 | DType::U8 => 1,
        }
    }

    /// True if it is a floating-point type.
    pub const fn is_float(self) -> bool {
        match self {
            DType::F32 | DType::F16 | DType::BF16 => true,
            DType::I32 | DType::U32 | DType::I8 | DType::U8 | DType::Bool => false,
        }
    }

    /// True if it is an integer type, which truth values are not.
    pub const fn is_int(self) -> bool {
        self.int_range().is_some()
    }

    /// Returns the least and the greatest value of an integer type.
    pub const fn int_range(self) -> Option<(i64, i64)> {
        match self {
            DType::I32 => Some((i32::MIN as i64, i32::MAX as i64)),
            DType::U32 => Some((0, u32::MAX as i64)),
            DType::I8 => Some((i8::MIN as i64, i8::MAX as i64)),
            DType::U8 => Some((0, u8::MAX as i64)),
            DType::F32 | DType::F16 | DType::BF16 | DType::Bool => None,
        }
    }

    /// True if it is an integer type with a sign.
    pub const fn is_signed_int(self) -> bool {
        matches!(self.int_range(), Some((..0, _)))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
