//! Arithmetic on words of the file. It cannot fail in any lane, so that inactive lanes are computed too.
//!
//! On x86-64, everything here is also compiled a second time for processors with AVX2 and FMA, because most processors
//! have these.

use super::lanes::split;
use crate::code::{Binary, Slot, Ternary, Unary};
use crate::{form, half};

/// True if the processor has the features that the fast versions need.
pub(super) fn has_fast() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

macro_rules! twice {
    ($name:ident, $fast:ident, $body:ident, $op:ty, $operands:ty) => {
        pub(super) fn $name(fast: bool, words: &mut [u32], op: $op, dst: Slot, operands: $operands, len: u32) {
            #[cfg(target_arch = "x86_64")]
            if fast {
                // SAFETY: `fast` is true only if the processor has the features.
                return unsafe { $fast(words, op, dst, operands, len) };
            }
            let _ = fast;
            $body(words, op, dst, operands, len)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $fast(words: &mut [u32], op: $op, dst: Slot, operands: $operands, len: u32) {
            $body(words, op, dst, operands, len)
        }
    };
}

twice!(unary, unary_fast, unary_body, Unary, Slot);
twice!(binary, binary_fast, binary_body, Binary, [Slot; 2]);
twice!(ternary, ternary_fast, ternary_body, Ternary, [Slot; 3]);

#[inline(always)]
fn map1(words: &mut [u32], dst: Slot, a: Slot, len: u32, f: impl Fn(u32) -> u32) {
    let len = len as usize;
    if a == dst {
        words[dst as usize..dst as usize + len].iter_mut().for_each(|w| *w = f(*w));
        return;
    }
    let (to, rest) = split(words, dst, len);
    to.iter_mut().zip(rest.get(a, len)).for_each(|(to, a)| *to = f(*a));
}

#[inline(always)]
fn map2(words: &mut [u32], dst: Slot, [a, b]: [Slot; 2], len: u32, f: impl Fn(u32, u32) -> u32) {
    let len = len as usize;
    let (to, rest) = split(words, dst, len);
    let (a, b) = (rest.get(a, len), rest.get(b, len));
    to.iter_mut().zip(a).zip(b).for_each(|((to, a), b)| *to = f(*a, *b));
}

#[inline(always)]
fn map3(words: &mut [u32], dst: Slot, [a, b, c]: [Slot; 3], len: u32, f: impl Fn(u32, u32, u32) -> u32) {
    let len = len as usize;
    let (to, rest) = split(words, dst, len);
    let (a, b, c) = (rest.get(a, len), rest.get(b, len), rest.get(c, len));
    to.iter_mut().zip(a).zip(b).zip(c).for_each(|(((to, a), b), c)| *to = f(*a, *b, *c));
}

#[inline(always)]
fn float(f: impl Fn(f32) -> f32) -> impl Fn(u32) -> u32 {
    move |a| f(f32::from_bits(a)).to_bits()
}

#[inline(always)]
fn floats(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32) -> u32 {
    move |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits()
}

#[inline(always)]
fn test(f: impl Fn(f32, f32) -> bool) -> impl Fn(u32, u32) -> u32 {
    move |a, b| u32::from(f(f32::from_bits(a), f32::from_bits(b)))
}

/// Returns the lesser number. If one operand is NaN, returns the other.
#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() { a } else { b }
}

#[inline(always)]
fn most(a: f32, b: f32) -> f32 {
    if a > b || b.is_nan() { a } else { b }
}

fn sign(a: f32) -> f32 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        0.0
    }
}

/// Returns the sum of the products of the bytes of two words. It always fits 32 bits.
pub(super) fn dot(a: u32, b: u32, of_a: fn(u8) -> i32, of_b: fn(u8) -> i32) -> u32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| of_a(a) * of_b(b)).sum::<i32>() as u32
}

/// Returns the number of a signed byte.
pub(super) fn signed(byte: u8) -> i32 {
    (byte as i8).into()
}

/// Returns the number of an unsigned byte.
pub(super) fn unsigned(byte: u8) -> i32 {
    byte.into()
}

#[inline(always)]
fn unary_body(words: &mut [u32], op: Unary, dst: Slot, a: Slot, len: u32) {
    macro_rules! run {
        ($f:expr) => {
            map1(words, dst, a, len, $f)
        };
    }
    match op {
        Unary::Half => run!(float(half::round)),
        Unary::HalfTowardsZero => run!(float(half::truncate)),
        Unary::Upper => run!(float(form::upper)),
        Unary::Same | Unary::FloatBits => run!(|a| a),
        Unary::WordOfShort => run!(|a| a & 0xffff),
        Unary::ShortAt(bit) => run!(|a| a >> bit & 0xffff),
        Unary::SignShort => run!(|a| a as u16 as i16 as i32 as u32),
        Unary::ByteAt(bit) => run!(|a| a >> bit & 0xff),
        Unary::SignByte => run!(|a| a as u8 as i8 as i32 as u32),
        Unary::LowHalf => run!(|a| half::float(a & 0xffff).to_bits()),
        Unary::HighHalf => run!(|a| half::float(a >> 16).to_bits()),
        Unary::FNegate => run!(|a| a ^ 0x8000_0000),
        Unary::SNegate => run!(|a| 0u32.wrapping_sub(a)),
        Unary::Not => run!(|a| !a),
        Unary::LogicalNot => run!(|a| a ^ 1),
        Unary::SToF => run!(|a| (a as i32 as f32).to_bits()),
        Unary::UToF => run!(|a| (a as f32).to_bits()),
        Unary::IsNan => run!(|a| u32::from(f32::from_bits(a).is_nan())),
        Unary::IsInf => run!(|a| u32::from(f32::from_bits(a).is_infinite())),
        Unary::FAbs => run!(|a| a & 0x7fff_ffff),
        Unary::FSign => run!(float(sign)),
        Unary::Floor => run!(float(f32::floor)),
        Unary::Ceil => run!(float(f32::ceil)),
        Unary::Trunc => run!(float(f32::trunc)),
        Unary::Round => run!(float(f32::round)),
        Unary::RoundEven => run!(float(f32::round_ties_even)),
        Unary::Fract => run!(float(|a| a - a.floor())),
        Unary::Sqrt => run!(float(f32::sqrt)),
        Unary::InverseSqrt => run!(float(|a| 1.0 / a.sqrt())),
        Unary::Exp => run!(float(f32::exp)),
        Unary::Exp2 => run!(float(f32::exp2)),
        Unary::Log => run!(float(f32::ln)),
        Unary::Log2 => run!(float(f32::log2)),
        Unary::Sin => run!(float(f32::sin)),
        Unary::Cos => run!(float(f32::cos)),
        Unary::Tan => run!(float(f32::tan)),
        Unary::Asin => run!(float(f32::asin)),
        Unary::Acos => run!(float(f32::acos)),
        Unary::Atan => run!(float(f32::atan)),
        Unary::Sinh => run!(float(f32::sinh)),
        Unary::Cosh => run!(float(f32::cosh)),
        Unary::Tanh => run!(float(f32::tanh)),
        Unary::Asinh => run!(float(f32::asinh)),
        Unary::Acosh => run!(float(f32::acosh)),
        Unary::Atanh => run!(float(f32::atanh)),
        Unary::SAbs => run!(|a| (a as i32).wrapping_abs() as u32),
        Unary::SSign => run!(|a| (a as i32).signum() as u32),
        Unary::BitCount => run!(u32::count_ones),
        Unary::BitReverse => run!(u32::reverse_bits),
        Unary::HighestBit => run!(|a| 31u32.wrapping_sub(a.leading_zeros())),
        Unary::LowestBit => run!(|a| if a == 0 { u32::MAX } else { a.trailing_zeros() }),
    }
}

#[inline(always)]
fn binary_body(words: &mut [u32], op: Binary, dst: Slot, operands: [Slot; 2], len: u32) {
    macro_rules! run {
        ($f:expr) => {
            map2(words, dst, operands, len, $f)
        };
    }
    match op {
        Binary::PackHalves => run!(|a, b| half::bits(f32::from_bits(a)) | half::bits(f32::from_bits(b)) << 16),
        Binary::Append(bits) => run!(|a, b| a << bits | b),
        Binary::Dot(false, false) => run!(|a, b| dot(a, b, unsigned, unsigned)),
        Binary::Dot(true, true) => run!(|a, b| dot(a, b, signed, signed)),
        Binary::Dot(true, false) => run!(|a, b| dot(a, b, signed, unsigned)),
        Binary::Dot(false, true) => run!(|a, b| dot(a, b, unsigned, signed)),
        Binary::FAdd => run!(floats(|a, b| a + b)),
        Binary::FSub => run!(floats(|a, b| a - b)),
        Binary::FMul => run!(floats(|a, b| a * b)),
        Binary::FDiv => run!(floats(|a, b| a / b)),
        Binary::FRem => run!(floats(|a, b| a % b)),
        Binary::FMod => run!(floats(|a, b| a - b * (a / b).floor())),
        Binary::FMin => run!(floats(least)),
        Binary::FMax => run!(floats(most)),
        Binary::Pow => run!(floats(f32::powf)),
        Binary::Atan2 => run!(floats(f32::atan2)),
        Binary::Step => run!(floats(|edge, x| if x < edge { 0.0 } else { 1.0 })),
        Binary::IAdd => run!(u32::wrapping_add),
        Binary::ISub => run!(u32::wrapping_sub),
        Binary::IMul => run!(u32::wrapping_mul),
        Binary::SMin => run!(|a, b| (a as i32).min(b as i32) as u32),
        Binary::SMax => run!(|a, b| (a as i32).max(b as i32) as u32),
        Binary::UMin => run!(|a, b| a.min(b)),
        Binary::UMax => run!(|a, b| a.max(b)),
        Binary::And => run!(|a, b| a & b),
        Binary::Or => run!(|a, b| a | b),
        Binary::Xor => run!(|a, b| a ^ b),
        Binary::IEqual => run!(|a, b| u32::from(a == b)),
        Binary::INotEqual => run!(|a, b| u32::from(a != b)),
        Binary::SLess => run!(|a, b| u32::from((a as i32) < b as i32)),
        Binary::SLessEqual => run!(|a, b| u32::from(a as i32 <= b as i32)),
        Binary::ULess => run!(|a, b| u32::from(a < b)),
        Binary::ULessEqual => run!(|a, b| u32::from(a <= b)),
        Binary::LogicalEqual => run!(|a, b| a ^ b ^ 1),
        Binary::FOrdEqual => run!(test(|a, b| a == b)),
        Binary::FOrdNotEqual => run!(test(|a, b| a != b && !a.is_nan() && !b.is_nan())),
        Binary::FOrdLess => run!(test(|a, b| a < b)),
        Binary::FOrdLessEqual => run!(test(|a, b| a <= b)),
        Binary::FUnordLess => run!(|a, b| 1 ^ test(|a, b| a >= b)(a, b)),
        Binary::FUnordLessEqual => run!(|a, b| 1 ^ test(|a, b| a > b)(a, b)),
    }
}

#[inline(always)]
fn ternary_body(words: &mut [u32], op: Ternary, dst: Slot, operands: [Slot; 3], len: u32) {
    macro_rules! run {
        ($f:expr) => {
            map3(words, dst, operands, len, $f)
        };
    }
    let f = f32::from_bits;
    match op {
        Ternary::Select => run!(|c, a, b| if c != 0 { a } else { b }),
        Ternary::Fma => run!(|a, b, c| f(a).mul_add(f(b), f(c)).to_bits()),
        Ternary::FMix => run!(|a, b, t| (f(a) * (1.0 - f(t)) + f(b) * f(t)).to_bits()),
        Ternary::FClamp => run!(|x, low, high| least(most(f(x), f(low)), f(high)).to_bits()),
        Ternary::SClamp => run!(|x, low, high| (x as i32).max(low as i32).min(high as i32) as u32),
        Ternary::UClamp => run!(|x, low, high| x.max(low).min(high)),
    }
}
