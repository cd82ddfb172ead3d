//! Element types: one row for each, from which everything about its numbers is computed.

use half::{bf16, f16};
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
    /// Two's complement, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Two's complement, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Two's complement, 64 bits in memory, for indices. In an expression it is the nearest number of 32 bits.
    I64,
    /// A truth value. In memory it is a 32-bit word that is 0 or 1.
    Bool,
}

/// The numbers of a dtype.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Numbers {
    /// Binary floating-point numbers.
    Float(FloatFormat),
    /// The integers from `least` to `greatest`.
    Int {
        /// The least integer.
        least: i64,
        /// The greatest integer.
        greatest: i64,
    },
    /// 0 and 1.
    Bool,
}

/// A binary floating-point format, as IEEE 754 describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatFormat {
    /// The binary digits of a significand, with the implicit one.
    pub digits: u32,
    /// The least positive normal number. Devices may flush smaller numbers to 0.
    pub least_normal: f64,
    /// The greatest finite number.
    pub greatest: f64,
}

impl FloatFormat {
    /// IEEE binary32.
    pub const F32: FloatFormat = FloatFormat { digits: 24, least_normal: f32::MIN_POSITIVE as f64, greatest: f32::MAX as f64 };
    /// IEEE binary16.
    pub const F16: FloatFormat =
        FloatFormat { digits: 11, least_normal: f16::MIN_POSITIVE.to_f64_const(), greatest: f16::MAX.to_f64_const() };
    /// bfloat16.
    pub const BF16: FloatFormat =
        FloatFormat { digits: 8, least_normal: bf16::MIN_POSITIVE.to_f64_const(), greatest: bf16::MAX.to_f64_const() };

    /// Returns the distance from 1 to the next larger number.
    pub fn epsilon(self) -> f64 {
        2f64.powi(1 - self.digits as i32)
    }

    /// Returns the unit roundoff, the largest relative error of rounding to nearest: half of [`FloatFormat::epsilon`].
    pub fn roundoff(self) -> f64 {
        self.epsilon() / 2.0
    }
}

/// The facts about a dtype.
struct Row {
    dtype: DType,
    name: &'static str,
    bytes: u32,
    numbers: Numbers,
}

const fn int(least: i64, greatest: i64) -> Numbers {
    Numbers::Int { least, greatest }
}

/// The dtypes, in the order in which messages list them. This is also the order of the variants.
const ROWS: [Row; 11] = [
    Row { dtype: DType::F32, name: "f32", bytes: 4, numbers: Numbers::Float(FloatFormat::F32) },
    Row { dtype: DType::F16, name: "f16", bytes: 2, numbers: Numbers::Float(FloatFormat::F16) },
    Row { dtype: DType::BF16, name: "bf16", bytes: 2, numbers: Numbers::Float(FloatFormat::BF16) },
    Row { dtype: DType::I32, name: "i32", bytes: 4, numbers: int(i32::MIN as i64, i32::MAX as i64) },
    Row { dtype: DType::U32, name: "u32", bytes: 4, numbers: int(0, u32::MAX as i64) },
    Row { dtype: DType::I16, name: "i16", bytes: 2, numbers: int(i16::MIN as i64, i16::MAX as i64) },
    Row { dtype: DType::U16, name: "u16", bytes: 2, numbers: int(0, u16::MAX as i64) },
    Row { dtype: DType::I8, name: "i8", bytes: 1, numbers: int(i8::MIN as i64, i8::MAX as i64) },
    Row { dtype: DType::U8, name: "u8", bytes: 1, numbers: int(0, u8::MAX as i64) },
    Row { dtype: DType::I64, name: "i64", bytes: 8, numbers: int(i32::MIN as i64, i32::MAX as i64) },
    Row { dtype: DType::Bool, name: "bool", bytes: 4, numbers: Numbers::Bool },
];

impl DType {
    /// Every dtype, in the order in which messages list them.
    pub const ALL: [DType; ROWS.len()] = {
        let (mut all, mut n) = ([DType::F32; ROWS.len()], 0);
        while n < ROWS.len() {
            assert!(ROWS[n].dtype as usize == n, "the rows are in the order of the variants");
            all[n] = ROWS[n].dtype;
            n += 1;
        }
        all
    };

    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the name users write.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the dtype of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }

    /// Returns the bytes of one element in device memory.
    pub const fn bytes(self) -> u32 {
        self.row().bytes
    }

    /// Returns the numbers that an expression of it can have. Memory holds other numbers of an `i64` too ([`DType::element`]).
    pub const fn numbers(self) -> Numbers {
        self.row().numbers
    }

    /// Returns the format of a floating-point type.
    pub const fn float_format(self) -> Option<FloatFormat> {
        match self.numbers() {
            Numbers::Float(format) => Some(format),
            Numbers::Int { .. } | Numbers::Bool => None,
        }
    }

    /// True if it is a floating-point type.
    pub const fn is_float(self) -> bool {
        self.float_format().is_some()
    }

    /// True if it is an integer type, which truth values are not.
    pub const fn is_int(self) -> bool {
        self.int_range().is_some()
    }

    /// Returns the dtype in which instructions compute with it, and in which a launch passes it. Integers of less than 32 bits are computed
    /// in `i32`, which has all their values, and bfloat16 in `f32`. An `i64` is an `i32`, because it only holds indices.
    pub const fn computed(self) -> DType {
        match self {
            DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 => DType::I32,
            DType::BF16 => DType::F32,
            DType::F32 | DType::F16 | DType::I32 | DType::U32 | DType::Bool => self,
        }
    }

    /// True if instructions compute with another dtype ([`DType::computed`]), so that loads and stores convert.
    pub const fn is_narrow(self) -> bool {
        self.computed() as u8 != self as u8
    }

    /// Returns the bits of one element in device memory.
    pub const fn bits(self) -> u32 {
        8 * self.bytes()
    }

    /// True if it is an integer type whose numbers have 32 bits.
    pub const fn is_word(self) -> bool {
        self.is_int() && self.bytes() >= 4
    }

    /// Returns the least and the greatest value of an integer type.
    pub const fn int_range(self) -> Option<(i64, i64)> {
        match self.numbers() {
            Numbers::Int { least, greatest } => Some((least, greatest)),
            Numbers::Float(_) | Numbers::Bool => None,
        }
    }

    /// True if it is an integer type with a sign.
    pub const fn is_signed_int(self) -> bool {
        matches!(self.int_range(), Some((..0, _)))
    }

    /// True if it has every number of another dtype, so that a conversion from that dtype is exact.
    pub fn has_all_of(self, other: DType) -> bool {
        match (self.numbers(), other.numbers()) {
            (Numbers::Float(all), Numbers::Float(some)) => {
                all.digits >= some.digits && all.greatest >= some.greatest && all.least_normal <= some.least_normal
            }
            (Numbers::Int { least, greatest }, Numbers::Int { least: low, greatest: high }) => least <= low && high <= greatest,
            (Numbers::Float(all), Numbers::Int { greatest, .. }) => greatest <= 1 << all.digits && greatest as f64 <= all.greatest,
            (Numbers::Bool, Numbers::Bool) => true,
            _ => false,
        }
    }

    /// Returns the bits of a number, in the low bits of the result. Floats are rounded to nearest, and integers keep their low bits.
    pub fn to_bits(self, number: f64) -> u32 {
        match self {
            DType::F32 => (number as f32).to_bits(),
            DType::F16 => f16::from_f32(round_to_odd(number)).to_bits().into(),
            DType::BF16 => bf16::from_f32(round_to_odd(number)).to_bits().into(),
            DType::Bool => u32::from(number != 0.0),
            DType::I32 | DType::U32 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 => {
                number as i64 as u32 & self.mask()
            }
        }
    }

    /// Returns the number of some bits. Bits above the type's own are ignored.
    pub fn from_bits(self, bits: u32) -> f64 {
        match self {
            DType::F32 => f32::from_bits(bits).into(),
            DType::F16 => f16::from_bits(bits as u16).into(),
            DType::BF16 => bf16::from_bits(bits as u16).into(),
            DType::Bool => bits.into(),
            DType::I32 | DType::U32 | DType::I16 | DType::U16 | DType::I8 | DType::U8 | DType::I64 => {
                self.wrapped(bits.into()) as f64
            }
        }
    }

    /// Returns an integer's value in this integer type: its low bits, with the type's sign.
    pub const fn wrapped(self, value: i64) -> i64 {
        let low = value & self.mask() as i64;
        match self.int_range() {
            Some((_, greatest)) if low > greatest => low - self.mask() as i64 - 1,
            _ => low,
        }
    }

    /// Returns the value that an expression has for an integer in memory: for an `i64`, the nearest number of 32 bits.
    pub fn element(self, stored: i64) -> i64 {
        self.int_range().map_or(stored, |(least, greatest)| stored.clamp(least, greatest))
    }

    /// Returns the bits that a value has.
    const fn mask(self) -> u32 {
        if self.bytes() >= 4 { u32::MAX } else { u32::MAX >> (32 - 8 * self.bytes()) }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the number in f32, rounded to odd: of two neighbours, the one whose last bit is 1. Rounding the result to 16 bits is then the
/// same as rounding the number once (Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008). `half` rounds to f32 to
/// nearest, or leaves out the last 32 bits, before it rounds a second time.
fn round_to_odd(number: f64) -> f32 {
    let near = number as f32;
    if number.is_nan() || f64::from(near) == number {
        return near;
    }
    let towards_zero = if f64::from(near).abs() > number.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These numbers are a little above the middle of two neighbours, which f32 cannot tell from the middle itself.
    #[test]
    fn numbers_of_16_bits_are_rounded_once() {
        let above = |digits: i32| 1.0 + 2f64.powi(-digits) + 2f64.powi(-40);
        assert_eq!(DType::F16.to_bits(above(11)), 0x3c01);
        assert_eq!(DType::BF16.to_bits(above(8)), 0x3f81);
        assert_eq!(DType::F16.to_bits(-above(11)), 0xbc01);
        for dtype in [DType::F16, DType::BF16] {
            for bits in 0..1 << 16 {
                let number = dtype.from_bits(bits);
                assert!(number.is_nan() || dtype.to_bits(number) == bits, "{dtype} {bits:#x}");
            }
        }
    }

    #[test]
    fn formats_are_those_of_half() {
        assert_eq!(FloatFormat::F16.epsilon(), f16::EPSILON.to_f64());
        assert_eq!(FloatFormat::BF16.epsilon(), bf16::EPSILON.to_f64());
        assert_eq!(FloatFormat::F32.epsilon(), f64::from(f32::EPSILON));
        assert_eq!(FloatFormat::F16.greatest, 65504.0);
        assert_eq!(FloatFormat::F16.least_normal, 2f64.powi(-14));
    }

    #[test]
    fn bits_and_numbers_agree() {
        for dtype in DType::ALL {
            let numbers: &[f64] = match dtype.numbers() {
                Numbers::Float(format) => &[0.0, 1.0, -0.75, format.greatest, -format.least_normal, f64::INFINITY],
                Numbers::Int { least, greatest } => &[0.0, 1.0, least as f64, greatest as f64],
                Numbers::Bool => &[0.0, 1.0],
            };
            for number in numbers {
                assert_eq!(dtype.from_bits(dtype.to_bits(*number)), *number, "{dtype}");
            }
        }
        assert_eq!(DType::I8.from_bits(DType::I8.to_bits(200.0)), -56.0);
        assert_eq!(DType::U32.wrapped(-1), u32::MAX.into());
        assert_eq!(DType::I32.wrapped(1 << 31), i32::MIN.into());
    }
}
