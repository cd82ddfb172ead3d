//! The element types of tensors and scalars.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
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
    /// A truth value; in memory a 32-bit word that is 0 or 1.
    Bool,
}

impl DType {
    /// Every dtype, in the order in which messages list them.
    pub const ALL: [DType; 8] = [DType::F32, DType::F16, DType::BF16, DType::I32, DType::U32, DType::I8, DType::U8, DType::Bool];

    /// The name users write.
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

    /// The dtype of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Bytes of one element in device memory.
    pub const fn bytes(self) -> u32 {
        match self {
            DType::F32 | DType::I32 | DType::U32 | DType::Bool => 4,
            DType::F16 | DType::BF16 => 2,
            DType::I8 | DType::U8 => 1,
        }
    }

    /// Whether it is a floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F16 | DType::BF16)
    }

    /// Whether it is an integer type (truth values are none).
    pub const fn is_int(self) -> bool {
        matches!(self, DType::I32 | DType::U32 | DType::I8 | DType::U8)
    }

    /// Whether it is an integer type with a sign.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I32 | DType::I8)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
