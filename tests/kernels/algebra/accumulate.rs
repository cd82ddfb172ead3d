//! Reductions of integers in other dtypes: at the largest number of items that is exact, with the operands that make the largest sums, and
//! under every way to combine partial results.

use crate::harness::{devices, of_subgroups, profiles, refused, try_variant, variant};
use tilewright::{Argument, Device, Element, Tensor};
use tilewright_dsl::launch::{Feature, Program};
use tilewright_dsl::profile::Profile;

/// Returns the profiles of the harness with bytes in memory.
fn bytes() -> [Profile; 2] {
    profiles().map(|mut profile| {
        profile.features.extend([Feature::Storage8, Feature::Storage16]);
        profile
    })
}

fn run<A: Element, B: Element>(device: &Device, program: &Program, a: &[A], b: &[A]) -> tilewright::Result<Vec<B>> {
    // SAFETY: the compiler made this program.
    let kernel = unsafe { device.load_programs(vec![program.clone()]) }.expect("it loads");
    let (a, b) = (device.upload([1, a.len()], a)?, device.upload([b.len(), 1], b)?);
    let outputs = kernel.run([Argument::from(&a), Argument::from(&b)])?;
    let result: Tensor<B> = outputs.into_iter().next().expect("one output").typed()?;
    result.download()
}

/// Checks `item` of bytes `a` and `b` in dtype `to`: sums of `most` items are exact, and a launch of one more is refused.
fn at_the_edge<A: Element, B: Element + Into<i64> + std::fmt::Debug>(
    item: &str,
    to: &str,
    most: usize,
    extremes: [(A, A); 2],
    of: impl Fn(A, A) -> i64,
) {
    let kernel = format!(
        "fn k<M, N, K>(a: {0}[M, K], b: {0}[K, N]) -> c: {1}[M, N] {{ c[i, j] = sum(k in 0..K) {{ {item} }}; }}",
        A::DTYPE,
        B::DTYPE
    );
    let schedule =
        format!("V: k for p {{ accumulate(as {to}); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }}");
    for profile in bytes() {
        let variant = variant(&kernel, &schedule, &profile);
        for (device, (a, b)) in devices().iter().flat_map(|device| extremes.map(|pair| (device, pair))) {
            let name = format!("{item} in {to} on {}", device.info().name);
            let [most, beyond] = [most, most + 1].map(|n| (vec![a; n], vec![b; n]));
            let wanted = of(a, b) * most.0.len() as i64;
            let got = run::<A, B>(device, &variant.program, &most.0, &most.1).expect("it runs");
            assert_eq!(got.into_iter().map(Into::into).collect::<Vec<i64>>(), [wanted], "{name}");
            let refusal = run::<A, B>(device, &variant.program, &beyond.0, &beyond.1).expect_err("too many items").to_string();
            assert!(refusal.contains(&format!("K <= {}", most.0.len())), "{name}: {refusal}");
        }
    }
}

#[test]
fn the_largest_sums_are_exact() {
    let product = "a[i, k] as i32 * b[k, j] as i32";
    at_the_edge::<i8, i32>(product, "f32", 1024, [(-128, -128), (-128, 127)], |a, b| i64::from(a) * i64::from(b));
    let product = "a[i, k] as u32 * b[k, j] as u32";
    at_the_edge::<u8, u32>(product, "f32", 258, [(255, 255), (0, 255)], |a, b| i64::from(a) * i64::from(b));
    let sum = "a[i, k] as i32 + b[k, j] as i32 - b[k, j] as i32 * 0";
    at_the_edge::<i8, i32>(sum, "i16", 128, [(-128, -128), (127, 127)], |a, b| i64::from(a) + i64::from(b));
    let sum = "a[i, k] as u32 + b[k, j] as u32";
    at_the_edge::<u8, u32>(sum, "u16", 128, [(255, 255), (0, 0)], |a, b| i64::from(a) + i64::from(b));
    let clamped = "a[i, k].clamp(-7, 8) as i32 * (b[k, j] & 1) as i32";
    at_the_edge::<i8, i32>(clamped, "i8", 15, [(-128, 1), (127, 1)], |a, b| i64::from(a.clamp(-7, 8)) * i64::from(b & 1));
}

const MATMUL: &str = "fn k<M, N, K>(a: i8[M, K], b: i8[K, N]) -> c: i32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as i32 * b[k, j] as i32 } + 3;
}";

const SIZES: [[(&str, i64); 3]; 4] = [
    [("M", 1), ("N", 1), ("K", 0)],
    [("M", 3), ("N", 5), ("K", 7)],
    [("M", 17), ("N", 33), ("K", 70)],
    [("M", 16), ("N", 64), ("K", 1024)],
];

#[test]
fn every_combination_of_partial_results_is_exact() {
    let schedules = [
        "{ accumulate(as f32); default; }",
        "{ accumulate(as f32); tile(i: 8, j: 16) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); reorder(k, i, j); unroll(i, j); }",
        "{ accumulate(as f32); distribute(i, j => workgroup(y, x)); tile(k: 32 => k_o); distribute(k => thread(x), by: tree); }",
        "{ accumulate(as f32); tile(k: 32 => k_o); rfactor(k_o => part); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
        "{ tile(k: 32 => k_o); rfactor(k_o => part); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));
           part { accumulate(as f32); distribute(k_o => workgroup(z)); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); } }",
        "{ accumulate(as f32); tile(i: 8, j: 8) => workgroup(y, x); tile(k: 8 => k_o);
           distribute(i, j => thread(y, x));
           promote(a => a_s, at: k_o, to: shared); promote(b => b_s, at: k_o, to: shared); }",
        "where N % 4 == 0 { accumulate(as f32); tile(i: 8, j: 16) => workgroup(y, x); tile(j: 4) => thread(x); distribute(i => thread(y)); vectorize(j, 4); }",
        "where K <= 64 { accumulate(as f32); tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }",
    ];
    for (schedule, profile) in schedules.iter().flat_map(|schedule| bytes().map(|profile| (schedule, profile))) {
        let variant = variant(MATMUL, &format!("V: k for p {schedule}"), &profile);
        SIZES.iter().filter(|dims| variant.admits(*dims)).for_each(|dims| variant.check(dims, &[]));
    }
    let mut subgroups = of_subgroups(8);
    subgroups.features.insert(Feature::Storage8);
    let schedule = "V: k for p { accumulate(as f32); distribute(i, j => workgroup(y, x)); tile(k: 32 => k_o); distribute(k => thread(x), by: subgroup); }";
    let variant = variant(MATMUL, schedule, &subgroups);
    SIZES.iter().for_each(|dims| variant.check(dims, &[]));
}

/// Partial results in memory have the bytes of their dtype.
#[test]
fn partial_results_in_memory_are_narrow() {
    let kernel = "fn k<N, K>(x: i8[K, N]) -> y: i32[N] where K <= 256 { y[j] = sum(k in 0..K) { x[k, j] as i32 }; }";
    let schedule = "V: k for p { accumulate(as i16); tile(k: 16 => k_o); rfactor(k_o => part); tile(j: 64) => workgroup(x); distribute(j => thread(x)); }";
    for profile in bytes() {
        let variant = variant(kernel, schedule, &profile);
        let part = variant.program.tensors.iter().find(|tensor| tensor.name == "part").expect("partial results");
        assert_eq!(part.dtype, tilewright::DType::I16);
        for (n, k) in [(1, 1), (70, 256), (3, 0), (65, 37)] {
            variant.check(&[("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn the_least_and_the_greatest_are_exact() {
    for (op, to, least) in [("max", "f32", 0), ("min", "f32", 0), ("max", "i8", 1), ("min", "i16", 1)] {
        for (from, wide) in [("i8", "i32"), ("u8", "u32")] {
            let to = if from == "u8" { to.replace('i', "u") } else { to.to_owned() };
            let kernel =
                format!("fn k<N, K>(x: {from}[N, K]) -> y: {wide}[N] {{ y[i] = {op}(k in 0..K) {{ x[i, k] as {wide} }}; }}");
            let schedule = format!(
                "V: k for p {{ accumulate(as {to}); distribute(i => workgroup(x)); tile(k: 8 => k_o); distribute(k => thread(x), by: tree); }}"
            );
            for profile in bytes() {
                let variant = variant(&kernel, &schedule, &profile);
                [0, 1, 7, 70].into_iter().filter(|k| *k >= least).for_each(|k| variant.check(&[("N", 5), ("K", k)], &[]));
                if least == 1 {
                    let refusals = variant.refusals(&[("N", 5), ("K", 0)]);
                    assert!(refusals.iter().all(|refusal| refusal.contains("K >= 1")), "{refusals:?}");
                }
            }
        }
    }
}

/// Items that are indices, not values of tensors.
#[test]
fn the_least_index_is_exact() {
    let kernel = "fn k<N>(x: f32[N]) -> y: i32[N] { y[i] = min(k in 0..4) { k } + i; }";
    for profile in bytes() {
        let variant = variant(kernel, "V: k for p { accumulate(as f32); distribute(i => workgroup(x)); }", &profile);
        [0, 1, 7].into_iter().for_each(|n| variant.check(&[("N", n)], &[]));
    }
}

/// Atomics add to the result itself, which keeps its dtype. The matrices of other dtypes do not exist.
#[test]
fn combinations_of_other_dtypes_are_refused() {
    let atomic = "{ accumulate(as f32); distribute(i, j => workgroup(y, x)); tile(k: 32 => k_o); distribute(k_o => workgroup(z), by: atomic); }";
    for profile in bytes() {
        let refusal = try_variant(MATMUL, &format!("V: k for p {atomic}"), &profile).err().expect("a refusal");
        assert!(!refusal.is_defect, "{}", refusal.text);
    }
    refused(
        "fn k<K>(x: f32[K]) -> y: f32[] { y[] = sum(k in 0..K) { x[k] }; }",
        "V: k for p { accumulate(as i16); }",
        "are rounded",
    );
}
