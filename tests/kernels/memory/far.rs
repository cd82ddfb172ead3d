//! Tensors of more than 4 GiB: 64-bit addresses if the profile has `int64`, and a refusal otherwise.
//! (`tests/differential/src/bin/large.rs` tests elements that far out, which needs a GPU's memory.)

use crate::harness::{Fill, Variant, instructions, profiles, variant};
use tilewright::{Argument, DynKernel, Error, Options};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

fn with_int64() -> Profile {
    let [mut profile, _] = profiles();
    profile.features.extend([Feature::Int64, Feature::Storage16, Feature::F16]);
    profile
}

fn is_far(variant: &Variant) -> bool {
    variant.program.requires.features.contains(&Feature::Int64)
}

/// Single elements, vectors, reads out of bounds at both ends, reads by data, atomic additions, and a small tensor beside.
#[test]
fn every_access_by_an_address_of_64_bits() {
    let cases = [
        (
            "fn k<N, M>(x: f32[N, M]) -> y: f32[N, M] {
                y[i, j] = x.pad(0.5)[i - 3, j + 2] + x.clamp()[i, j - 1] * x[(N - 1) - i, j];
            }",
            "V: k for p { tile(i: 4, j: 32 => j_o) => workgroup(y, x); distribute(j => thread(x)); unroll(i); }",
        ),
        (
            "fn k<N, M>(x: f32[N, M]) -> y: f32[M, N] { y[i, j] = x[j, i] * 2.0; }",
            "V: k for p where M % 8 == 0, N % 8 == 0 {
                tile(i: 8, j: 8) => workgroup(y, x); promote(x => s[j, i], at: workgroup, to: shared);
                distribute(i => thread(y)); tile(j: 4) => thread(x); vectorize(j, 4);
            }",
        ),
        (
            "fn k<N, M>(x: f16[N, M], z: f16[M]) -> y: f16[N, M] { y[i, j] = x[i, j] * z[j] + z[j]; }",
            "V: k for p where M % 8 == 0 { tile(i: 1, j: 32) => workgroup(y, x); tile(j: 8) => thread(x); vectorize(j, 8); }",
        ),
        (
            "fn k<N, M>(x: f32[N], q: i32[M]) -> y: f32[M] { y[i] = x.clamp()[q[i]]; }",
            "V: k for p { tile(i: 32) => workgroup(x); distribute(i => thread(x)); }",
        ),
        (
            "fn k<N, M>(x: i32[N, M]) -> y: i32[N] { y[i] = sum(k in 0..M) { x[i, k] }; }",
            "V: k for p { tile(i: 1) => workgroup(x); tile(k: 64 => k_o); distribute(k => thread(x), by: tree); }",
        ),
        (
            "fn k<N, M>(x: f32[N, M], y: &mut f32[N, M]) { y[i, j] = y[i, j] * 0.5 + x[i, j]; }",
            "V: k for p where M % 4 == 0 { tile(i: 1, j: 16) => workgroup(y, x); tile(j: 4) => thread(x); vectorize(j, 4); }",
        ),
        (
            "fn k<N, M>(x: i32[N, M]) -> y: i32[N] { y[i] = sum(k in 0..M) { x[i, k] }; }",
            "V: k for p { tile(i: 1) => workgroup(x); distribute(k => workgroup(y), by: atomic); }",
        ),
        (
            "fn k<N, M>(x: f32[N, M], z: f32[8]) -> y: f32[N, M] { y[i, j] = x[i, j] * z[j % 8]; }",
            "V: k for p { tile(i: 1, j: 32) => workgroup(y, x); distribute(j => thread(x)); }",
        ),
    ];
    for (kernel, schedule) in cases {
        let variant = variant(kernel, schedule, &with_int64());
        assert!(is_far(&variant), "{kernel}");
        for (n, m) in [(8, 40), (24, 8), (16, 64)] {
            variant.check_filled(&[("N", n), ("M", m)], &[], &|_| Fill::Small);
        }
    }
}

/// Elements that invocations write and others read after a barrier are coherent, also with a 64-bit address.
#[test]
fn coherent_blocks_by_an_address_of_64_bits() {
    let kernel = "fn k<N, M>(x: f32[M, N], y: &mut f32[N, M]) { y[i, j] = y[i, j] * 0.5 + x[j, i]; }";
    let schedule = "V: k for p {
        tile(i: 8, j: 8) => workgroup(y, x);
        promote(x => s[j, i], at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
    }";
    let variant = variant(kernel, schedule, &with_int64());
    let module = instructions(&variant.program.dispatches[0].spirv);
    let (decorate_member, coherent) = (72, 23);
    assert!(module.iter().any(|(op, words)| *op == decorate_member && words[2..] == [coherent]));
    assert!(is_far(&variant));
    for (n, m) in [(8, 40), (24, 8), (3, 640)] {
        variant.check_filled(&[("N", n), ("M", m)], &[], &|_| Fill::Small);
    }
}

/// A literal shape proves that a tensor is smaller than 4 GiB.
#[test]
fn what_has_few_elements_needs_no_more_bits() {
    let kernel = |m: u64| format!("fn k<N, M = {m}>(x: f32[512, M]) -> y: f32[M] {{ y[i] = x[i % 512, i]; }}");
    let schedule = "V: k for p { tile(i: 32) => workgroup(x); distribute(i => thread(x)); }";
    let of = |m| variant(&kernel(m).replace("<N, ", "<"), schedule, &with_int64());
    assert!(!is_far(&of(1 << 21)));
    assert!(is_far(&of((1 << 21) + 1)));
}

/// The first variant that can address a tensor of 6.4 GB takes it; the test's device does not have that much memory.
#[test]
fn tensors_beyond_4_gib_are_refused_in_32_bits() {
    let [address, descriptor] = profiles();
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N, N] { y[i, j] = x[i] * x[j]; }";
    let schedule = |name: &str| format!("{name}: k for p {{ tile(i: 1, j: 32) => workgroup(y, x); distribute(j => thread(x)); }}");
    let [near, by_descriptor, far] = [("NEAR", &address), ("DESCRIPTOR", &descriptor), ("FAR", &with_int64())]
        .map(|(n, p)| variant(kernel, &schedule(n), p).program);
    let device = Options::new().device("reference").memory(Some(1 << 20)).open().expect("it opens");
    let x = device.upload([40_000], &vec![1.0f32; 40_000]).expect("it fits").into_any();
    // SAFETY: the compiler made these programs.
    let load = |programs| -> DynKernel { unsafe { device.load_programs(programs) }.expect("it loads") };
    let error = |kernel: &DynKernel| kernel.run([Argument::Read(&x)]).expect_err("it has too little memory");
    let most = device.info().limits.storage_buffer_bytes;
    let refused = error(&load(vec![near.clone(), by_descriptor.clone()]));
    assert_eq!(
        refused.to_string(),
        format!(
            "`k`: no variant takes these arguments\n  `NEAR`: `y` has 6400000000 bytes, but at most 4294967296 can be accessed by \
             address in 32 bits; a profile with `int64` allows more\n  `DESCRIPTOR`: `y` has 6400000000 bytes, but at most {most} \
             can be accessed by descriptor on this device"
        )
    );
    let kernel = load(vec![near, by_descriptor, far]);
    assert!(matches!(error(&kernel), Error::OutOfMemory { .. }));
    let small = device.upload([9], &[2.0f32; 9]).expect("it fits").into_any();
    let result = kernel.run([Argument::Read(&small)]).expect("the first variant takes it").remove(0);
    assert_eq!(result.download::<f32>().expect("it is there"), [4.0; 81]);
}
