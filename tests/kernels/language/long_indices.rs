//! Indices of 64 bits, compared with the indices that Rust computes in 64 bits; and results of 64 bits.

use crate::harness::{Fill, check, devices, profiles, variant};
use tilewright::{Argument, Device, Element, Tensor};
use tilewright_dsl::launch::Program;
use tilewright_dsl::profile::Profile;

/// Numbers around the ends of 32 bits, with low words that are indices, and the ends of 64 bits.
fn numbers() -> Vec<i64> {
    let bases = [0, 1 << 31, 1 << 32, -(1 << 31), -(1 << 32), 1 << 33, -(1 << 33), 1 << 62, -(1 << 62), 0x7fff_ffff_0000_0000];
    let near = bases.into_iter().flat_map(|base: i64| (-3..10).map(move |n| base + n));
    near.chain([i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1]).collect()
}

fn run<A: Element, B: Element>(device: &Device, program: &Program, x: &[A], at: &[i64]) -> Vec<B> {
    // SAFETY: the compiler made this program.
    let kernel = unsafe { device.load_programs(vec![program.clone()]) }.expect("it loads");
    let (x, at) = (device.upload([x.len()], x).expect("it fits"), device.upload([at.len()], at).expect("it fits"));
    let outputs = kernel.run([Argument::from(&x), Argument::from(&at)]).expect("it runs");
    let result: Tensor<B> = outputs.into_iter().next().expect("one output").typed().expect("its dtype");
    result.download().expect("it ends")
}

/// Schedules that load single indices, pairs of them, and copies of them.
const SCHEDULES: [&str; 6] = [
    "{}",
    "{ tile(i: 64) => workgroup(x); distribute(i => thread(x)); }",
    "where N % 2 == 0 { tile(i: 128) => workgroup(x); tile(i: 2) => thread(x); vectorize(i, 2); }",
    "{ tile(i: 128) => workgroup(x); tile(i: 4) => thread(x); unroll(i); }",
    "{ tile(i: 32) => workgroup(x); promote(at => at_s, at: i_workgroup, to: shared); distribute(i => thread(x)); }",
    "{ tile(i: 128) => workgroup(x); tile(i: 4) => thread(x); promote(at => at_r, at: i_thread, to: register); unroll(i); }",
];

fn each(kernel: &str, mut check: impl FnMut(&Device, &Program, &str)) {
    for (schedule, profile) in SCHEDULES.iter().flat_map(|schedule| profiles().map(|profile| (schedule, profile))) {
        let variant = variant(kernel, &format!("V: k for p {schedule}"), &profile);
        devices().iter().for_each(|device| check(device, &variant.program, &format!("{schedule} on {}", device.info().name)));
    }
}

#[test]
fn long_indices_are_in_bounds_or_not_as_64_bits_say() {
    let (x, at): (Vec<f32>, Vec<i64>) = ((1..8u8).map(f32::from).collect(), numbers());
    let inside = |at: i64| usize::try_from(at).ok().and_then(|at| x.get(at).copied());
    let last = x.len() as i64 - 1;
    type Wanted<'a> = &'a dyn Fn(i64) -> f32;
    let bodies: [(&str, Wanted<'_>); 6] = [
        ("x.pad(-1.0)[at[i]]", &|at| inside(at).unwrap_or(-1.0)),
        ("x.clamp()[at[i]]", &|at| x[at.clamp(0, last) as usize]),
        ("if at[i] >= 0 && at[i] < V { x[at[i]] } else { -2.0 }", &|at| inside(at).unwrap_or(-2.0)),
        ("x[at[i].clamp(0, V - 1)]", &|at| x[at.clamp(0, last) as usize]),
        // An index from the end, as ONNX has it.
        ("x.pad(0.0)[if at[i] < 0 { at[i] as i32 + V } else { at[i] as i32 }]", &|at| {
            inside(if at < 0 { at + last + 1 } else { at }).unwrap_or(0.0)
        }),
        ("if at[i] == 3 { 1.0 } else if at[i] != -1 { 2.0 } else { 3.0 }", &|at| match at {
            3 => 1.0,
            -1 => 3.0,
            _ => 2.0,
        }),
    ];
    for (body, wanted) in bodies {
        let kernel = format!("fn k<V, N>(x: f32[V], at: i64[N]) -> y: f32[N] where V >= 1 {{ y[i] = {body}; }}");
        each(&kernel, |device, program, name| {
            let got: Vec<f32> = run(device, program, &x, &at);
            let wrong = at.iter().zip(&got).find(|(at, got)| **got != wanted(**at));
            assert_eq!(wrong.map(|(at, got)| (*at, *got, wanted(*at))), None, "{body} with {name}");
        });
    }
}

#[test]
fn results_of_64_bits_have_a_sign() {
    let x: Vec<i32> = vec![0, 1, -1, 7, i32::MAX, i32::MIN, -123_456_789, 42];
    let at: Vec<i64> = (0..70).map(|n| n % 8).collect();
    let wanted: Vec<i64> = at.iter().map(|at| i64::from(x[*at as usize])).collect();
    each(
        "fn k<V, N>(x: i32[V], at: i64[N]) -> y: i64[N] where V >= 1 { y[i] = x.clamp()[at[i]] as i64; }",
        |device, program, name| {
            assert_eq!(run::<i32, i64>(device, program, &x, &at), wanted, "{name}");
        },
    );
}

#[test]
fn elements_are_converted_to_the_nearest_number() {
    let at = numbers();
    let wanted: Vec<i32> = at.iter().map(|at| (*at).clamp(i32::MIN.into(), i32::MAX.into()) as i32).collect();
    each(
        "fn k<V, N>(x: i32[V], at: i64[N]) -> y: i32[N] where V >= 1 { y[i] = (at[i] as i32) ^ x[0]; }",
        |device, program, name| {
            assert_eq!(run::<i32, i32>(device, program, &[0], &at), wanted, "{name}");
        },
    );
}

/// The number that is stored is the number that was read, although both are pairs of words.
#[test]
fn stored_elements_are_the_nearest_numbers() {
    let at = numbers();
    let wanted: Vec<i64> = at.iter().map(|at| (*at).clamp(i32::MIN.into(), i32::MAX.into())).collect();
    let bodies = ["at[i] as i32 as i64", "if x[0] == 0 { at[i] as i32 as i64 } else { 7 }", "at.pad(3)[i] as i32 as i64"];
    for body in bodies {
        let kernel = format!("fn k<V, N>(x: i32[V], at: i64[N]) -> y: i64[N] where V >= 1 {{ y[i] = {body}; }}");
        each(&kernel, |device, program, name| {
            assert_eq!(run::<i32, i64>(device, program, &[0], &at), wanted, "{body} with {name}")
        });
    }
}

/// Positions as ONNX has them, a gather at positions that the kernel finds, an update in place, and a copy in another layout.
#[test]
fn long_positions_agree_with_the_evaluation() {
    let kernels = [
        ("fn k<N, M>(x: f32[N, M]) -> p: i64[N] where M >= 1 { p[i] = argmax(j in 0..M) { x[i, j] } as i64; }", "p", ""),
        (
            "fn k<N, M>(x: f32[N, M]) -> (p: i64[N], v: f32[N]) where M >= 1 {
                p[i] = argmin(j in 0..M) { x[i, j] } as i64;
                v[i] = x[i, p[i]];
            }",
            "p",
            "",
        ),
        (
            "fn k<N, M>(x: f32[N, M], at: &mut i64[N, M]) { at[i, j] = (x.pad(0.0)[i, at[i, j]] as i32 + i * j) as i64; }",
            "at",
            "serial(j);",
        ),
        (
            "fn k<N, M>(x: f32[N, M], at: i64[M, N]) -> y: f32[N, M] where M >= 1 { y[i, j] = x.clamp()[i, at[j, i]]; }",
            "y",
            "serial(j);",
        ),
    ];
    let schedules = ["{}", "{ NAME { tile(i: 8) => workgroup(x); distribute(i => thread(x)); REST } }"];
    for (kernel, stage, rest) in kernels {
        for (schedule, profile) in schedules.iter().flat_map(|schedule| profiles().map(|profile| (schedule, profile))) {
            let variant =
                variant(kernel, &format!("V: k for p {}", schedule.replace("NAME", stage).replace("REST", rest)), &profile);
            for dims in [[("N", 1), ("M", 1)], [("N", 37), ("M", 5)], [("N", 4), ("M", 33)]] {
                for fill in [Fill::Below(9), Fill::Wild] {
                    variant.check_filled(&dims, &[], &|name| if name == "at" { fill } else { Fill::Small });
                }
            }
        }
    }
}

/// A device without 64-bit integers has 64-bit elements, because they are pairs of words.
#[test]
fn no_feature_is_needed() {
    let variant = variant(
        "fn k<V, N>(x: f32[V], at: i64[N]) -> y: f32[N] { y[i] = x.pad(0.0)[at[i]]; }",
        "V: k for p {}",
        &Profile::vulkan_1_1(),
    );
    assert!(variant.program.requires.features.is_empty(), "{:?}", variant.program.requires.features);
    variant.check_filled(&[("V", 5), ("N", 100)], &[], &|name| if name == "at" { Fill::Below(6) } else { Fill::Small });
}

/// The emitter does not know a bound of a component of a fused axis, and stores it without a conversion.
#[test]
fn axes_as_results() {
    let kernel = "fn k<N, M>(x: i32[N, M]) -> y: i64[N, M] { y[i, j] = (i as i64); }";
    check(kernel, "V: k for p {}", &[&[("N", 5), ("M", 7)], &[("N", 1), ("M", 1)], &[("N", 3), ("M", 0)]]);
}
