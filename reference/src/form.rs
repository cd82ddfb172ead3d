//! The form of a scalar in memory, and its form in the words of the file. Floats of 16 bits are kept as the f32 of the same value.
//! Integers of 8 and 16 bits, signed or not, are kept as their bits, with zeros above.

use crate::half;

/// The form of a scalar in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// 32 bits.
    Word,
    Half,
    /// The upper half of an f32.
    BFloat,
    Short,
    Byte,
}

impl Form {
    /// Returns the number of bytes in memory.
    #[inline(always)]
    pub(crate) fn bytes(self) -> u32 {
        match self {
            Form::Word => 4,
            Form::Half | Form::BFloat | Form::Short => 2,
            Form::Byte => 1,
        }
    }

    /// Converts the form in memory to the form in the file. The operand may have more bits above.
    #[inline(always)]
    pub(crate) fn keep(self, bits: u32) -> u32 {
        match self {
            Form::Word => bits,
            Form::Half => half::float(bits & 0xffff).to_bits(),
            Form::BFloat => bits << 16,
            Form::Short => bits & 0xffff,
            Form::Byte => bits & 0xff,
        }
    }

    /// Converts the form in the file to the bits in memory.
    #[inline(always)]
    pub(crate) fn bits(self, kept: u32) -> u32 {
        match self {
            Form::Word => kept,
            Form::Half => half::bits(f32::from_bits(kept)),
            Form::BFloat => kept >> 16,
            Form::Short => kept & 0xffff,
            Form::Byte => kept & 0xff,
        }
    }

    /// Rounds a float to this form.
    #[inline(always)]
    pub(crate) fn round(self, x: f32) -> f32 {
        match self {
            Form::Half => half::round(x),
            Form::BFloat => upper(x),
            Form::Word | Form::Short | Form::Byte => x,
        }
    }
}

/// Returns the bfloat16 that is nearest to a float, with ties to even, as a float.
#[inline(always)]
pub(crate) fn upper(x: f32) -> f32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) & 0xffff_0000;
    let nan = (bits & 0xffff_0000) | 0x0040_0000;
    f32::from_bits(if x.is_nan() { nan } else { rounded })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bfloat_is_itself_and_between_two_the_nearer_is_taken() {
        for bits in 0..0x7f80u32 {
            let (low, high) = (Form::BFloat.keep(bits), Form::BFloat.keep(bits + 1));
            assert_eq!(Form::BFloat.bits(low), bits);
            let even = if bits % 2 == 0 { low } else { high };
            let rounded = |bits: u32| upper(f32::from_bits(bits)).to_bits();
            assert_eq!([rounded(low), rounded(low + 0x7fff), rounded(low + 0x8000), rounded(low + 0x8001)], [low, low, even, high]);
        }
        assert!(upper(f32::from_bits(0x7f80_0001)).is_nan());
        assert_eq!(upper(f32::NEG_INFINITY), f32::NEG_INFINITY);
    }
}
