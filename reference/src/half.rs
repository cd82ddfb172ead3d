//! Half precision. Halves are kept as the f32 of the same value, and rounded after each operation.

/// Returns the half that is nearest to a float, with ties to even, as a float.
#[inline(always)]
pub(crate) fn round(x: f32) -> f32 {
    let bits = x.to_bits();
    let size = bits & 0x7fff_ffff;
    let sign = bits & 0x8000_0000;
    // Below 2^-14, halves are the multiples of 2^-24, which is the unit in the last place of floats from 0.5 to 1.
    let small = (f32::from_bits(size) + 0.5) - 0.5;
    let rounded = size.wrapping_add(0xfff + ((size >> 13) & 1)) & !0x1fff;
    let normal = if rounded >= 0x4780_0000 { 0x7f80_0000 } else { rounded };
    let finite = if size < 0x3880_0000 { small.to_bits() } else { normal };
    let all = if size > 0x7f80_0000 { 0x7fc0_0000 } else { finite };
    f32::from_bits(all | sign)
}

/// Rounds a float to a half towards 0. The result is a float.
#[inline(always)]
pub(crate) fn truncate(x: f32) -> f32 {
    let bits = x.to_bits();
    let (sign, size) = (bits & 0x8000_0000, bits & 0x7fff_ffff);
    let magnitude = match size {
        0x7f80_0001.. => 0x7fc0_0000,
        0x7f80_0000 => size,
        0x4780_0000.. => 0x477f_e000,
        0x3880_0000.. => size & !0x1fff,
        // A multiple of 2^-24.
        _ => ((f32::from_bits(size) * 16_777_216.0) as u32 as f32 * (1.0 / 16_777_216.0)).to_bits(),
    };
    f32::from_bits(magnitude | sign)
}

/// Returns the bits of a float that is a half.
#[inline(always)]
pub(crate) fn bits(x: f32) -> u32 {
    let bits = x.to_bits();
    let (sign, size) = ((bits >> 16) & 0x8000, bits & 0x7fff_ffff);
    let magnitude = match size {
        0x7f80_0001.. => 0x7e00,
        0x4780_0000.. => 0x7c00,
        0x3880_0000.. => (size - 0x3800_0000) >> 13,
        // A multiple of 2^-24.
        _ => (f32::from_bits(size) * 16_777_216.0) as u32,
    };
    sign | magnitude
}

/// Returns the float with a half's bits.
#[inline(always)]
pub(crate) fn float(bits: u32) -> f32 {
    let (sign, size) = ((bits & 0x8000) << 16, bits & 0x7fff);
    let magnitude = match size {
        0x7c01.. => 0x7fc0_0000,
        0x7c00 => 0x7f80_0000,
        0x0400.. => (size << 13) + 0x3800_0000,
        _ => (size as f32 * (1.0 / 16_777_216.0)).to_bits(),
    };
    f32::from_bits(sign | magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_is_itself() {
        for half in 0..=0xffffu32 {
            let value = float(half);
            if value.is_nan() {
                assert!(float(bits(value)).is_nan() && round(value).is_nan());
            } else {
                assert_eq!((bits(value), round(value).to_bits()), (half, value.to_bits()), "{half:#x}");
            }
        }
    }

    #[test]
    fn truncation_takes_the_half_towards_zero() {
        for half in 0..0x7bffu32 {
            let (low, high) = (float(half), float(half + 1));
            let under = f32::from_bits(high.to_bits() - 1);
            assert_eq!((truncate(low), truncate(under), truncate(high)), (low, low, high), "{half:#x}");
            assert_eq!(truncate(-under), -low);
        }
        assert_eq!((truncate(65520.0), truncate(-1e30), truncate(f32::INFINITY)), (65504.0, -65504.0, f32::INFINITY));
        assert!(truncate(f32::NAN).is_nan());
    }

    #[test]
    fn between_halves_the_nearer_is_taken_and_the_even_of_two() {
        for half in 0..0x7bffu32 {
            let (low, high) = (float(half), float(half + 1));
            let middle = (low + high) / 2.0;
            let even = if half % 2 == 0 { low } else { high };
            assert_eq!(round(middle), even, "{half:#x}");
            let (under, over) = (f32::from_bits(middle.to_bits() - 1), f32::from_bits(middle.to_bits() + 1));
            assert_eq!((round(under), round(over)), (low, high), "{half:#x}");
            assert_eq!(round(-over), -high);
        }
        assert_eq!((round(65519.0), round(65520.0), round(-1e30)), (65504.0, f32::INFINITY, f32::NEG_INFINITY));
    }
}
