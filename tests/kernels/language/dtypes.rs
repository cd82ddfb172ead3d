//! Narrow dtypes: every value of 8 bits, every pair of them, and all bfloat16, compared with Rust's types; and schedules of all kinds
//! compared with the evaluation.

use crate::harness::{Variant, devices, profiles, try_variant, variant};
use half::bf16;
use tilewright::{Argument, Device, Element, Tensor};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

const ALONE: &str = "V: k for p { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }";

/// Returns a schedule whose accesses to elements of this many bytes are the widest.
fn wide(bytes: u32) -> String {
    let lanes = 16 / bytes;
    format!(
        "V: k for p where N % 16 == 0 {{ tile(i: 1024) => workgroup(x); tile(i: {lanes}) => thread(x); vectorize(i, {lanes}); }}"
    )
}

/// Returns the profiles of the harness with narrow elements in memory, without and with narrow integers in shared memory.
fn narrow() -> Vec<Profile> {
    let mut all = Vec::new();
    for profile in profiles() {
        for more in [&[][..], &[Feature::I8, Feature::I16]] {
            let mut profile = profile.clone();
            profile.features.insert(Feature::Storage8);
            profile.features.extend(more);
            all.push(profile);
        }
    }
    all
}

fn run<A: Element, B: Element, C: Element>(device: &Device, variant: &Variant, a: &[A], b: &[B]) -> Vec<C> {
    // SAFETY: the compiler made this program.
    let kernel = unsafe { device.load_programs(vec![variant.program.clone()]) }.expect("it loads");
    let (a, b) = (device.upload([a.len()], a).expect("it fits"), device.upload([b.len()], b).expect("it fits"));
    let outputs = kernel.run([Argument::from(&a), Argument::from(&b)]).expect("it runs");
    let result: Tensor<C> = outputs.into_iter().next().expect("one output").typed().expect("its dtype");
    result.download().expect("it ends")
}

/// Runs `body` of `x` and `y` on all profiles and devices, and compares each element with `wanted`.
pub(super) fn agrees<A: Element + std::fmt::Debug, C: Element + PartialEq + std::fmt::Debug>(
    body: &str,
    pairs: &[(A, A)],
    wanted: impl Fn(A, A) -> C,
) {
    let kernel = format!("fn k<N>(x: {}[N], y: {0}[N]) -> z: {}[N] {{ z[i] = {body}; }}", A::DTYPE, C::DTYPE);
    let (a, b): (Vec<A>, Vec<A>) = pairs.iter().copied().unzip();
    let [.., alone, whole] = &narrow()[..] else { panic!("four profiles") };
    for (schedule, profile) in [(ALONE, alone), (&wide(A::DTYPE.bytes().max(C::DTYPE.bytes())), whole)] {
        let variant = variant(&kernel, schedule, profile);
        for device in devices() {
            let got: Vec<C> = run(device, &variant, &a, &b);
            let wrong = pairs.iter().zip(&got).find(|((a, b), got)| **got != wanted(*a, *b));
            let said = wrong.map(|((a, b), got)| format!("{a:?}, {b:?} gives {got:?} instead of {:?}", wanted(*a, *b)));
            assert_eq!(said, None, "{kernel} on {}", device.info().name);
        }
    }
}

/// Checks the operations of an integer type. `$u` is the unsigned type of its width.
macro_rules! operations {
    ($t:ty, $u:ty, $pairs:expr) => {{
        let pairs: Vec<($t, $t)> = $pairs;
        agrees("x[i] + y[i]", &pairs, |a: $t, b| a.wrapping_add(b));
        agrees("x[i] - y[i] * x[i]", &pairs, |a: $t, b| a.wrapping_sub(b.wrapping_mul(a)));
        agrees("x[i] / y[i]", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_div(b) });
        agrees("x[i] % y[i]", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_rem(b) });
        agrees("(x[i] & y[i]) ^ (!x[i] | y[i])", &pairs, |a: $t, b| (a & b) ^ (!a | b));
        agrees("(x[i] << y[i]) ^ (x[i] >> y[i])", &pairs, |a: $t, b| a.wrapping_shl(b as u32) ^ a.wrapping_shr(b as u32));
        agrees("x[i].min(y[i]) - x[i].max(3)", &pairs, |a: $t, b| a.min(b).wrapping_sub(a.max(3)));
        agrees("x[i].mul_hi(y[i])", &pairs, |a: $t, b| ((i64::from(a) * i64::from(b)) >> <$t>::BITS) as $t);
        agrees("x[i].rem_euclid(y[i])", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_rem_euclid(b) });
        agrees("x[i].div_euclid(y[i])", &pairs, |a: $t, b| if b == 0 { 0 } else { a.wrapping_div_euclid(b) });
        agrees("x[i].rem_euclid(7) - x[i].div_euclid(7)", &pairs, |a: $t, _| a.rem_euclid(7).wrapping_sub(a.div_euclid(7)));
        agrees("x[i].pow(y[i] as u32)", &pairs, |a: $t, b| a.wrapping_pow(b as u32));
        agrees("x[i].pow(3)", &pairs, |a: $t, _| a.wrapping_pow(3));
        agrees("x[i].count_ones() * 10000 + x[i].leading_zeros() * 100 + x[i].trailing_zeros()", &pairs, |a: $t, _| {
            a.count_ones() * 10000 + a.leading_zeros() * 100 + a.trailing_zeros()
        });
        agrees("x[i].rotate_left(y[i] as u32) - x[i].rotate_right(3)", &pairs, |a: $t, b| {
            a.rotate_left(b as u32 % <$t>::BITS).wrapping_sub(a.rotate_right(3))
        });
        agrees("x[i] < y[i] && x[i] != 5 || x[i] >= y[i] - 1", &pairs, |a: $t, b| a < b && a != 5 || a >= b.wrapping_sub(1));
        agrees("if x[i] > y[i] { x[i] } else { y[i] + 1 }", &pairs, |a: $t, b| if a > b { a } else { b.wrapping_add(1) });
        agrees("x[i] as i8", &pairs, |a: $t, _| a as i8);
        agrees("x[i] as u8", &pairs, |a: $t, _| a as u8);
        agrees("x[i] as i16", &pairs, |a: $t, _| a as i16);
        agrees("x[i] as u16", &pairs, |a: $t, _| a as u16);
        agrees("x[i] as i32", &pairs, |a: $t, _| a as i32);
        agrees("x[i] as u32", &pairs, |a: $t, _| a as u32);
        agrees("x[i] as f32", &pairs, |a: $t, _| a as f32);
        agrees("(x[i] as f32 * 2.5) as u8 as i32 + (y[i] as f32 * -1.25) as i8 as i32", &pairs, |a: $t, b| {
            (a as f32 * 2.5) as u8 as i32 + (b as f32 * -1.25) as i8 as i32
        });
        agrees("(x[i] as f32 * 2.5) as u16 as i32 + (y[i] as f32 * -1.25) as i16 as i32", &pairs, |a: $t, b| {
            (a as f32 * 2.5) as u16 as i32 + (b as f32 * -1.25) as i16 as i32
        });
    }};
}

/// Checks the operations that only signed integers have.
macro_rules! signs {
    ($t:ty, $pairs:expr) => {{
        let pairs: Vec<($t, $t)> = $pairs;
        agrees("-x[i]", &pairs, |a: $t, _| a.wrapping_neg());
        agrees("x[i].abs()", &pairs, |a: $t, _| a.wrapping_abs());
        agrees("x[i].signum() - y[i].signum()", &pairs, |a: $t, b| a.signum() - b.signum());
    }};
}

fn all<T: Copy>(values: impl Iterator<Item = T> + Clone) -> Vec<(T, T)> {
    values.clone().flat_map(|a| values.clone().map(move |b| (a, b))).collect()
}

/// Returns pairs of random values, and of the values at the ends of the type and of 8 bits.
pub(super) fn some<T: Copy>(ends: &[T], random: impl Fn() -> T) -> Vec<(T, T)> {
    let mut pairs = all(ends.iter().copied());
    pairs.resize_with(4096, || (random(), if fastrand::bool() { random() } else { ends[fastrand::usize(..ends.len())] }));
    pairs
}

#[test]
fn every_pair_of_i8() {
    operations!(i8, u8, all(i8::MIN..=i8::MAX));
    signs!(i8, all(i8::MIN..=i8::MAX));
}

#[test]
fn every_pair_of_u8() {
    operations!(u8, u8, all(u8::MIN..=u8::MAX));
}

#[test]
fn pairs_of_i16() {
    let ends = [i16::MIN, i16::MIN + 1, -256, -129, -128, -1, 0, 1, 2, 15, 16, 127, 128, 255, 256, i16::MAX];
    operations!(i16, u16, some(&ends, || fastrand::i16(..)));
    signs!(i16, some(&ends, || fastrand::i16(..)));
}

#[test]
fn pairs_of_u16() {
    let ends = [0, 1, 2, 15, 16, 127, 128, 255, 256, 32767, 32768, u16::MAX];
    operations!(u16, u16, some(&ends, || fastrand::u16(..)));
}

/// Returns the bits, with one value for all NaN.
fn same(x: bf16) -> u32 {
    if x.is_nan() { u32::MAX } else { x.to_bits().into() }
}

fn compared(body: &str, pairs: &[(f32, f32)], wanted: impl Fn(f32, f32) -> bf16) {
    let kernel = format!("fn k<N>(x: f32[N], y: f32[N]) -> z: bf16[N] {{ z[i] = {body}; }}");
    let (a, b): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    let wide = wide(4);
    for (n, profile) in narrow().iter().enumerate() {
        let variant = variant(&kernel, if n % 2 == 0 { ALONE } else { &wide }, profile);
        for device in devices() {
            let got: Vec<bf16> = run(device, &variant, &a, &b);
            // A device may flush subnormal operands and results to a zero of either sign.
            let flushed = |x: f32| if x.abs() < f32::MIN_POSITIVE { 0.0 } else { x };
            let ok = |((a, b), got): &(&(f32, f32), &bf16)| {
                let (exact, got) = (wanted(*a, *b), **got);
                let mut flushes =
                    [(*a, flushed(*b)), (flushed(*a), *b), (flushed(*a), flushed(*b))].map(|(a, b)| wanted(a, b)).into_iter();
                let is_tiny = |x: &f32| *x != 0.0 && flushed(*x) == 0.0;
                same(exact) == same(got)
                    || is_tiny(&exact.to_f32()) && got.to_f32() == 0.0
                    || [*a, *b].iter().any(is_tiny) && flushes.any(|wanted| flushed(wanted.to_f32()) == flushed(got.to_f32()))
            };
            let wrong = pairs.iter().zip(&got).find(|case| !ok(case));
            assert_eq!(wrong, None, "{kernel} on {}", device.info().name);
        }
    }
}

#[test]
fn every_bfloat_is_kept_and_f32_is_rounded_to_the_nearest() {
    let mut values: Vec<f32> = Vec::new();
    for bits in 0..=u16::MAX {
        let low = u32::from(bits) << 16;
        values.extend([low, low + 0x7fff, low + 0x8000, low + 0x8001].map(f32::from_bits));
    }
    let pairs: Vec<(f32, f32)> = values.into_iter().map(|x| (x, x)).collect();
    compared("x[i] as bf16", &pairs, |a, _| bf16::from_f32(a));
}

#[test]
fn arithmetic_of_bfloats_is_rounded_once() {
    let random = || bf16::from_bits(fastrand::u16(..)).to_f32();
    let mut pairs: Vec<(f32, f32)> = (0..4096).map(|_| (random(), random())).collect();
    pairs.resize_with(8192, || {
        (bf16::from_f32(fastrand::f32() * 4.0 - 2.0).to_f32(), bf16::from_f32(fastrand::f32() - 0.5).to_f32())
    });
    let of = |op: fn(f32, f32) -> f32| move |a: f32, b: f32| bf16::from_f32(op(a, b));
    compared("x[i] as bf16 + y[i] as bf16", &pairs, of(|a, b| a + b));
    compared("x[i] as bf16 - y[i] as bf16", &pairs, of(|a, b| a - b));
    compared("(x[i] as bf16) * (y[i] as bf16)", &pairs, of(|a, b| a * b));
    compared("(x[i] as bf16).copysign(y[i] as bf16)", &pairs, of(f32::copysign));
    compared("(x[i] as bf16).round_ties_even()", &pairs, of(|a, _| a.round_ties_even()));
    compared("bf16::from_bits((x[i] as bf16).to_bits())", &pairs, of(|a, _| a));
    compared("-(x[i] as bf16).max(y[i] as bf16).abs().floor()", &pairs, of(|a, b| -a.max(b).abs().floor()));
}

const PRODUCT: &str =
    "fn k<M, N, K>(a: A[M, K], b: A[K, N]) -> c: C[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] as C * b[k, j] as C }; }";
const TILED: &str = "V: k for p {
    tile(i: 16, j: 16) => workgroup(y, x);
    tile(i: 2, j: 4) => thread(y, x);
    tile(k: 16 => k_o);
    promote(a => a_s, at: k_o, to: shared);
    promote(b => b_s, at: k_o, to: shared);
    unroll(j);
    serial(i);
}";
const ALIGNED: &str = "V: k for p where N % 16 == 0, K % 16 == 0 {
    tile(i: 16, j: 64) => workgroup(y, x);
    tile(i: 2, j: 8) => thread(y, x);
    tile(k: 16 => k_o);
    reorder(k_o, k, i, j);
    promote(a => a_s, at: k_o, to: shared);
    promote(b => b_s, at: k_o, to: shared);
    a_s { vectorize(k, 4); fuse(i, k => t); distribute(t => thread(linear)); }
    b_s { vectorize(j, 8); fuse(k, j => t); distribute(t => thread(linear)); }
    vectorize(j, 4);
    unroll(i, j);
}";

#[test]
fn products_are_right_in_shared_memory_and_registers() {
    let types = [("i8", "i32"), ("u8", "u32"), ("i16", "i32"), ("u16", "u16"), ("bf16", "f32"), ("bf16", "bf16"), ("i8", "i8")];
    for (a, c) in types {
        let kernel = PRODUCT.replace("A[", &format!("{a}[")).replace("as C", &format!("as {c}")).replace("C[", &format!("{c}["));
        for profile in narrow() {
            let wild = |_: &str| if a == "bf16" { crate::harness::Fill::Small } else { crate::harness::Fill::Wild };
            for (schedule, dims) in [(TILED, [33, 19, 45]), (ALIGNED, [18, 80, 48])] {
                let dims: Vec<(&str, i64)> = ["M", "N", "K"].into_iter().zip(dims).collect();
                variant(&kernel, schedule, &profile).check_filled(&dims, &[], &wild);
            }
        }
    }
}

#[test]
fn reductions_are_right_across_invocations() {
    let mut profile = narrow()[1].clone();
    profile.features.extend([Feature::SubgroupSize, Feature::SubgroupShuffle, Feature::SubgroupArithmetic]);
    profile.subgroup = Some(8);
    let ways =
        ["tile(k: 32 => k_o); distribute(k => thread(x), by: tree);", "tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup);"];
    for dtype in ["i8", "u8", "i16", "u16", "bf16"] {
        for op in ["sum", "min", "max", "prod"] {
            let kernel = format!("fn k<N, K>(x: {dtype}[N, K]) -> y: {dtype}[N] {{ y[i] = {op}(k in 0..K) {{ x[i, k] }}; }}");
            for way in ways {
                let schedule = format!("V: k for p {{ tile(i: 1) => workgroup(x); {way} }}");
                variant(&kernel, &schedule, &profile).check(&[("N", 5), ("K", 77)], &[]);
            }
        }
        let kernel = format!("fn k<N, K>(x: {dtype}[N, K]) -> y: i32[N] {{ y[i] = argmax(k in 0..K) {{ x[i, k] }}; }}");
        variant(&kernel, "V: k for p { }", &profile).check(&[("N", 5), ("K", 77)], &[]);
    }
}

#[test]
fn scalars_tables_padding_and_updates_are_narrow_too() {
    for dtype in ["i8", "u8", "i16", "u16", "bf16"] {
        let kernel = format!(
            "fn k<N>(x: {dtype}[N], s: {dtype}, y: &mut {dtype}[N]) {{
                const T: {dtype}[3] = [3, 100, 7];
                y[i] = y[i] + s * sum(k in 0..3) {{ T[k] * x.pad(1)[i + k - 1] }};
            }}"
        );
        let kernel =
            if dtype == "bf16" { kernel.replace("[3, 100, 7]", "[3.0, 100.0, 7.0]").replace("pad(1)", "pad(1.0)") } else { kernel };
        for (n, profile) in narrow().iter().enumerate() {
            let schedule = ["V: k for p { }", ALONE][n % 2];
            variant(&kernel, schedule, profile).check(&[("N", 203)], &[3.0]);
        }
    }
}

#[test]
fn a_byte_is_an_index_of_a_table_without_further_proof() {
    let kernel = "fn k<N>(x: u8[N], t: f32[256]) -> y: f32[N] { y[i] = t[x[i] as i32]; }";
    variant(kernel, ALONE, &narrow()[0]).check_filled(&[("N", 1000)], &[], &|_| crate::harness::Fill::Wild);
}

#[test]
fn a_profile_without_narrow_memory_is_told_what_to_write() {
    let kernel = "fn k<N>(x: u8[N]) -> y: u8[N] { y[i] = x[i] + 1; }";
    let refusal = try_variant(kernel, ALONE, &profiles()[0]).err().expect("refused");
    assert!(refusal.text.contains("`u8` in memory") && refusal.text.contains("vectors of 4 elements"), "{}", refusal.text);
    // Whole words need no feature.
    let aligned = "V: k for p where N % 4 == 0 { tile(i: 256) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4); }";
    variant(kernel, aligned, &profiles()[0]).check(&[("N", 1000)], &[]);
}
