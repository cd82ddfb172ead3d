//! Euclidean division, powers with exponents that are not literals, and the bits of floats, compared with Rust's.

use super::dtypes::{agrees, some};
use crate::harness::{Fill, profiles, try_variant, variant};
use half::{bf16, f16};
use tilewright_dsl::launch::Feature;

/// Checks the operations of an integer type of 32 bits.
macro_rules! operations {
    ($t:ty, $pairs:expr) => {{
        let pairs: Vec<($t, $t)> = $pairs;
        agrees("x[i].rem_euclid(y[i])", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_rem_euclid(b) });
        agrees("x[i].div_euclid(y[i])", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_div_euclid(b) });
        agrees("x[i].rem_euclid(10) ^ x[i].div_euclid(10) ^ x[i].rem_euclid(64) ^ x[i].div_euclid(64)", &pairs, |a: $t, _| {
            a.rem_euclid(10) ^ a.div_euclid(10) ^ a.rem_euclid(64) ^ a.div_euclid(64)
        });
        agrees("x[i].pow(y[i] as u32)", &pairs, |a: $t, b| a.wrapping_pow(b as u32));
        agrees("x[i].pow(y[i] as u32 & 13) + x[i].pow(9u32)", &pairs, |a: $t, b| {
            a.wrapping_pow(b as u32 & 13).wrapping_add(a.wrapping_pow(9))
        });
    }};
}

#[test]
fn words() {
    let ends = [i32::MIN, i32::MIN + 1, -65536, -7, -2, -1, 0, 1, 2, 3, 10, 31, 32, 65536, i32::MAX];
    operations!(i32, some(&ends, || fastrand::i32(..)));
    operations!(i32, some(&ends, || fastrand::i32(-100..100)));
    let ends = [0, 1, 2, 3, 10, 31, 32, 65535, 65536, 1 << 31, u32::MAX];
    operations!(u32, some(&ends, || fastrand::u32(..)));
}

/// A Euclidean division by a divisor above 0 rounds down, as `/` of axes does. So a remainder is an index that needs no clamp.
#[test]
fn remainders_are_indices() {
    let kernel = "fn ring<N, K>(x: i32[N], t: f32[K], u: f32[5]) -> (y: f32[N], z: f32[N], w: i32[N]) where K >= 1 {
        y[i] = t[x[i].rem_euclid(K)];
        z[i] = u[(x[i] - 3).rem_euclid(5)] + u[(i - 7).rem_euclid(5)];
        w[i] = (i - 9).div_euclid(4) * 100 + (i - 9).rem_euclid(4) + x[i].div_euclid(K) + x[i].rem_euclid(x[i] - i) + i.div_euclid(x[i]) + i.pow(x[i] as u32);
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: ring for p {}", &profile);
        for k in [1, 2, 7, 64] {
            variant.check_filled(&[("N", 300), ("K", k)], &[], &|_| Fill::Wild);
        }
    }
}

/// Returns pairs of equal elements, as many as vectors need.
fn pairs<T: Copy>(mut of: Vec<T>) -> Vec<(T, T)> {
    of.truncate(of.len() / 16 * 16);
    of.into_iter().map(|x| (x, x)).collect()
}

/// Returns the floats of all bits, without NaN.
fn all<T: Copy>(of: impl Fn(u16) -> T, is_nan: impl Fn(T) -> bool) -> Vec<(T, T)> {
    pairs((0..=u16::MAX).rev().map(of).filter(|x| !is_nan(*x)).collect())
}

#[test]
fn bits_of_floats() {
    let words = pairs((0..20_000).map(|_| fastrand::u32(..)).filter(|bits| !f32::from_bits(*bits).is_nan()).collect());
    agrees("f32::from_bits(x[i]).to_bits()", &words, |a: u32, _| a);
    agrees("f32::from_bits(x[i] & 0x7fffff | 0x3f800000) - 1.0", &words, |a: u32, _| {
        f32::from_bits(a & 0x7f_ffff | 0x3f80_0000) - 1.0
    });
    let floats: Vec<(f32, f32)> = words.iter().map(|(x, _)| (f32::from_bits(*x), 0.0)).collect();
    agrees("x[i].to_bits()", &floats, |a: f32, _| a.to_bits());
    agrees("x[i].to_bits()", &all(f16::from_bits, f16::is_nan), |a: f16, _| a.to_bits());
    agrees("x[i].to_bits()", &all(bf16::from_bits, bf16::is_nan), |a: bf16, _| a.to_bits());
    let is_nan = |x: u16| f16::from_bits(x).is_nan();
    agrees("f16::from_bits(x[i])", &all(|x| x, is_nan), |a: u16, _| f16::from_bits(a));
    agrees("f16::from_bits(x[i]).to_bits()", &all(|x| x, is_nan), |a: u16, _| a);
    let is_nan = |x: u16| bf16::from_bits(x).is_nan();
    agrees("bf16::from_bits(x[i])", &all(|x| x, is_nan), |a: u16, _| bf16::from_bits(a));
    agrees("bf16::from_bits(x[i]).to_bits()", &all(|x| x, is_nan), |a: u16, _| a);
    let nan: Vec<(u16, u16)> = all(|x| x, |x: u16| !f16::from_bits(x).is_nan());
    agrees("f16::from_bits(x[i]).is_nan() as u32", &nan, |_: u16, _| 1u32);
}

#[test]
fn bits_of_halves_need_the_feature() {
    let mut profile = profiles()[0].clone();
    profile.features.remove(&Feature::F16);
    for (x, y, value) in [("f16", "u16", "x[i].to_bits()"), ("u16", "f16", "f16::from_bits(x[i])")] {
        let kernel = format!("fn k<N>(x: {x}[N]) -> y: {y}[N] {{ y[i] = {value}; }}");
        let refusal = try_variant(&kernel, "V: k for p {}", &profile).err().expect("refused");
        assert!(refusal.text.contains("the bits of an `f16`") && refusal.text.contains("help: take "), "{}", refusal.text);
    }
}

/// A power with an exponent of few bits has few products.
#[test]
fn products_of_powers() {
    let of = |exponent: &str| {
        let kernel = format!("fn k<N>(x: u32[N], n: u32[N]) -> z: u32[N] {{ z[i] = x[i].pow({exponent}); }}");
        let program = variant(&kernel, "V: k for p { distribute(i => workgroup(x)); }", &profiles()[0]).program;
        let all = crate::harness::instructions(&program.dispatches[0].spirv);
        all.iter().filter(|(op, _)| *op == spirv::Op::IMul as u32).count()
    };
    assert_eq!((of("n[i]"), of("n[i] & 7"), of("3u32")), (62, 4, 2));
}
