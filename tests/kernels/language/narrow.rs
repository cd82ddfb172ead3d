//! Conversions to f16 round to the nearest half, ties to the even one, on every profile: by the declared rounding mode, or by integer
//! arithmetic. The reference device rounds conversions towards zero in modules that declare no mode, as a driver may.

use crate::harness::{Variant, devices, instructions, variant};
use half::f16;
use tilewright::{Argument, Device, DynKernel, Tensor};
use tilewright_dsl::launch::{DType, Feature, Matrices};
use tilewright_dsl::profile::Profile;

const CAST: &str = "fn k<N>(x: f32[N]) -> y: f16[N] { y[i] = x[i] as f16; }";
const ALONE: &str = "V: k for p { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }";

/// Returns a profile with f16 in memory, and these features.
fn with(features: &[Feature]) -> Profile {
    let features = features.iter().copied().chain([Feature::Storage16]).collect();
    Profile { name: "test".into(), features, ..Profile::vulkan_1_1() }
}

/// Returns a profile for each way in which f32 is narrowed: with or without f16 arithmetic, a declared rounding mode, and buffers
/// by address.
fn ways() -> Vec<Profile> {
    let (all, mut ways) = ([Feature::F16, Feature::Rte16, Feature::Address], Vec::new());
    for n in 0..8 {
        let some: Vec<Feature> = all.into_iter().enumerate().filter(|(bit, _)| n >> bit & 1 == 1).map(|(_, f)| f).collect();
        ways.push(with(&some));
    }
    ways
}

/// Returns each f16 value, the middle between it and the next one, and the f32 values on both sides of that middle.
fn ties() -> Vec<f32> {
    let mut values = vec![f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 65_536.0, 1e-30, -1e-30, 1e-45, -0.0];
    values.extend([0x7f80_0001, 0xffc0_1234, 0x7fff_ffff].map(f32::from_bits));
    for bits in 0..0x7c00u16 {
        let low = f16::from_bits(bits).to_f32();
        // The f16 value above the greatest one would be 2^16.
        let high = if bits == 0x7bff { 65_536.0 } else { f16::from_bits(bits + 1).to_f32() };
        let middle = (low + high) / 2.0;
        let beside = [middle.to_bits() - 1, middle.to_bits() + 1].map(f32::from_bits);
        for value in [low, beside[0], middle, beside[1]] {
            values.extend([value, -value]);
        }
    }
    values
}

fn is_same(a: f16, b: f16) -> bool {
    a.is_nan() && b.is_nan() || a.to_bits() == b.to_bits()
}

fn load(device: &Device, variant: &Variant) -> DynKernel {
    // SAFETY: the compiler made this program.
    unsafe { device.load_programs(vec![variant.program.clone()]) }.expect("it loads")
}

fn narrowed(device: &Device, variant: &Variant, values: &[f32]) -> Vec<f16> {
    let x = device.upload([values.len()], values).expect("it fits");
    let outputs = load(device, variant).run([Argument::from(&x)]).expect("it runs");
    let y: Tensor<f16> = outputs.into_iter().next().expect("one output").typed().expect("halves");
    y.download().expect("it ends")
}

fn has(variant: &Variant, feature: Feature) -> bool {
    variant.program.requires.features.contains(&feature)
}

/// True if the module declares that results of this many bits round to the nearest.
fn declares(variant: &Variant, bits: u32) -> bool {
    const MODE: u32 = spirv::ExecutionMode::RoundingModeRTE as u32;
    let is = |(op, operands): &(u32, Vec<u32>)| *op == spirv::Op::ExecutionMode as u32 && operands[1..] == [MODE, bits];
    variant.program.dispatches.iter().any(|d| instructions(&d.spirv).iter().any(is))
}

#[test]
fn every_tie_goes_to_the_even_half() {
    let mut values = ties();
    values.resize(values.len().next_multiple_of(8), 1.0);
    let schedules =
        [ALONE, "V: k for p where N % 4 == 0 { tile(i: 256) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4); }"];
    for profile in ways() {
        for schedule in schedules {
            let variant = variant(CAST, schedule, &profile);
            assert_eq!(declares(&variant, 16), profile.has(Feature::Rte16));
            assert_eq!(has(&variant, Feature::Rte16), profile.has(Feature::Rte16));
            for device in devices() {
                let got = narrowed(device, &variant, &values);
                let wrong = values.iter().zip(&got).find(|(value, got)| !is_same(f16::from_f32(**value), **got));
                assert_eq!(wrong, None, "{:?} on {}", profile.features, device.info().name);
            }
        }
    }
}

/// Conversions other than stored casts: they are within half a unit in the last place of f16, as the evaluation allows.
#[test]
fn sums_scalars_and_integers_are_narrowed_alike() {
    let kernels = [
        ("fn k<N>(x: i32[N]) -> y: f16[N] { y[i] = x[i] as f16; }", ALONE),
        ("fn k<N>(x: f32[N], s: f32) -> y: f16[N] { y[i] = (x[i] * s) as f16; }", ALONE),
        ("fn k<N>(x: f32[N], s: f16) -> y: f32[N] { y[i] = x[i] * s as f32; }", ALONE),
        ("fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = (x[i] as f16) as f32; }", ALONE),
        (
            "fn k<N>(x: f32[N, 40]) -> y: f16[N] { y[i] = sum(k in 0..40) { x[i, k] } as f16; }",
            "V: k for p { tile(k: 8 => k_o); tile(i: 1) => workgroup(x); distribute(k => thread(x), by: tree); }",
        ),
    ];
    for profile in ways() {
        for (kernel, schedule) in kernels {
            // A scalar that is exact in f16, because the evaluation does not round scalars.
            variant(kernel, schedule, &profile).check(&[("N", 500)], &[307.0 / 1024.0]);
        }
    }
}

#[test]
fn sums_of_halves_across_a_subgroup_are_narrowed_alike() {
    let kernel = "fn k<N>(x: f16[N, 16]) -> y: f16[N] { y[i] = sum(k in 0..16) { x[i, k] }; }";
    let schedule = "V: k for p { tile(i: 1) => workgroup(x); tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup); }";
    let features = [Feature::F16, Feature::SubgroupArithmetic, Feature::SubgroupShuffle, Feature::SubgroupSize];
    for more in [&[][..], &[Feature::Rte16]] {
        let profile = Profile { subgroup: Some(8), ..with(&[&features[..], more].concat()) };
        let variant = variant(kernel, schedule, &profile);
        assert_eq!(declares(&variant, 16), !more.is_empty());
        variant.check(&[("N", 300)], &[]);
    }
}

#[test]
fn matrices_of_sums_are_narrowed_alike() {
    let kernel = "fn k<N>(a: f16[N, 8], b: f16[8, 8]) -> c: f16[N, 8] {
        c[i, j] = sum(k in 0..8) { a[i, k] as f32 * b[k, j] as f32 } as f16;
    }";
    let schedule = "V: k for p where N % 8 == 0 { tile(i: 8) => workgroup(y); mma(i, j, k, 8 x 8 x 8); }";
    let lavapipe = Profile::mesa_lavapipe_26();
    let mut without = Profile { name: "test".into(), ..lavapipe.clone() };
    without.features.remove(&Feature::Rte16);
    assert!(without.matrices.contains(&Matrices { shape: [8; 3], factors: [DType::F16; 2], sum: DType::F32 }));
    for profile in [lavapipe, without] {
        let variant = variant(kernel, schedule, &profile);
        assert_eq!(declares(&variant, 16), profile.has(Feature::Rte16));
        variant.check(&[("N", 64)], &[]);
    }
}

#[test]
fn exact_conversions_declare_no_mode() {
    let mut profile = with(&[Feature::F16, Feature::Rte16, Feature::Rte32]);
    profile.features.insert(Feature::Nan16);
    for kernel in [
        "fn k<N>(x: f16[N]) -> y: f32[N] { y[i] = x[i] as f32; }",
        "fn k<N>(x: f16[N]) -> y: f16[N] { y[i] = x[i].max(0.0); }",
        "fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = x[i] * (i % 1000) as f32; }",
    ] {
        let variant = variant(kernel, ALONE, &profile);
        assert!(!declares(&variant, 16) && !declares(&variant, 32), "{kernel}");
    }
    let integers = variant("fn k<N>(x: i32[N]) -> y: f32[N] { y[i] = x[i] as f32; }", ALONE, &profile);
    assert!(declares(&integers, 32) && has(&integers, Feature::Rte32) && !declares(&integers, 16));
}

#[test]
fn a_device_without_the_mode_is_refused() {
    let variant = variant(CAST, ALONE, &with(&[Feature::F16, Feature::Rte16]));
    let device = tilewright::Options::new().device("reference:arm_valhall").open().expect("the reference device");
    // SAFETY: the compiler made this program.
    let refusal = unsafe { device.load_programs(vec![variant.program]) }.expect_err("refused").to_string();
    assert!(refusal.contains("rte16"), "{refusal}");
}
