//! Dot products of bytes: all signs, from device memory, from copies in shared memory and in registers, packed, and at the ends of the
//! dtypes. The evaluation multiplies and adds one by one.

use crate::harness::{Fill, Variant, devices, instructions, profiles, refused_on, variant};
use tilewright::{Argument, Element, Tensor};
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// The dtypes of both factors and of the sum.
const TYPES: [[&str; 3]; 5] =
    [["i8", "i8", "i32"], ["u8", "u8", "u32"], ["u8", "u8", "i32"], ["i8", "u8", "i32"], ["u8", "i8", "i32"]];

/// The instructions for these types.
const INSTRUCTIONS: [spirv::Op; 5] = [spirv::Op::SDot, spirv::Op::UDot, spirv::Op::UDot, spirv::Op::SUDot, spirv::Op::SUDot];

/// Returns the harness's profiles with dot products and bytes.
fn able() -> [Profile; 2] {
    profiles().map(|mut profile| {
        profile.features.extend([Feature::IntegerDotProduct, Feature::Storage8, Feature::I8]);
        profile.shared_bytes = 32768;
        profile
    })
}

/// Returns a kernel with dtypes in place of `A`, `B` and `C`.
fn typed(kernel: &str, [a, b, c]: [&str; 3]) -> String {
    let kernel = kernel.replace("A[", &format!("{a}[")).replace("B[", &format!("{b}["));
    kernel.replace("C[", &format!("{c}[")).replace("as C", &format!("as {c}"))
}

/// Returns the number of times that an instruction is in a variant's modules.
fn count(variant: &Variant, op: spirv::Op) -> usize {
    let modules = variant.program.dispatches.iter();
    modules.flat_map(|dispatch| instructions(&dispatch.spirv)).filter(|(found, _)| *found == op as u32).count()
}

/// Checks a kernel with all types, on both profiles, with elements over the whole range of the bytes.
fn check(kernel: &str, schedule: &str, sizes: &[(i64, i64, i64)]) {
    for (types, op) in TYPES.into_iter().zip(INSTRUCTIONS) {
        for profile in able() {
            let variant = variant(&typed(kernel, types), schedule, &profile);
            assert!(count(&variant, op) > 0, "{op:?} is missing");
            for (m, n, k) in sizes {
                let fill = |name: &str| if ["a", "b"].contains(&name) { Fill::Wild } else { Fill::Small };
                variant.check_filled(&[("M", *m), ("N", *n), ("K", *k)], &[], &fill);
            }
        }
    }
}

/// Both factors have the axis of the sum last.
const ROWS: &str = "fn rows<M, N, K>(a: A[M, K], b: B[N, K]) -> c: C[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as C * b[j, k] as C };
}";

const MATMUL: &str = "fn matmul<M, N, K>(a: A[M, K], b: B[K, N]) -> c: C[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as C * b[k, j] as C };
}";

const RAGGED: [(i64, i64, i64); 5] = [(1, 1, 1), (3, 7, 2), (33, 3, 7), (31, 37, 41), (8, 16, 0)];

#[test]
fn words_from_device_memory() {
    let schedule = "V: rows for p where K % 4 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        dot(k, 4);
    }";
    check(ROWS, schedule, &[(1, 1, 4), (8, 8, 16), (13, 9, 36), (5, 3, 0)]);
}

/// The tiles of the sum need guards, but no guard cuts a word.
#[test]
fn guarded_tiles_of_whole_words() {
    let schedule = "V: rows for p where K % 4 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        tile(k: 12 => k_o);
        distribute(i, j => thread(y, x));
        dot(k, 4);
        unroll(k);
    }";
    check(ROWS, schedule, &[(1, 1, 4), (8, 8, 16), (13, 9, 36), (5, 3, 0)]);
}

#[test]
fn words_of_filled_copies_at_any_size() {
    let schedule = "V: matmul for p {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[i, k], at: k_o, to: shared, fill: 0);
        promote(b => b_s[j, k], at: k_o, to: shared, fill: 0, row_pad: 4);
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);
        dot(k, 4);
    }";
    check(MATMUL, schedule, &RAGGED);
}

/// Rows of words are loaded in registers once for all columns of a thread. The copy of the other factor is transposed: it reads words along
/// the rows of the tensor, and stores words along the columns.
#[test]
fn words_in_registers() {
    let schedule = "V: matmul for p where K % 16 == 0, N % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(b => b_s[j, k], at: k_o, to: shared);
        tile(i: 4, j: 4) => thread(y, x);
        promote(a => a_r[i, k], at: k_o, to: register, vector: 16);
        promote(b_s => b_r[j, k], at: k_o, to: register, vector: 4);
        dot(k, 4);
        unroll(k, i, j);
        b_s { tile(j: 4, k: 4) => thread(y, x); unroll(j); vectorize(k, 4); }
    }";
    check(MATMUL, schedule, &[(1, 16, 16), (16, 32, 48), (23, 16, 32), (5, 48, 0)]);
}

#[test]
fn packed_words() {
    let schedule = "V: matmul for p where K % 4 == 0 {
        pack(b[k, j] => [k / 4, j, k % 4], when: dispatch);
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        dot(k, 4);
    }";
    check(MATMUL, schedule, &[(1, 1, 4), (8, 8, 16), (13, 9, 36), (5, 3, 0)]);
}

/// The other terms after the sum, a scale for each column and a saturating cast, are ordinary.
#[test]
fn epilogues() {
    let kernel = "fn rows<M, N, K>(a: A[M, K], b: B[N, K], bias: C[N], scale: f32[N]) -> c: i8[M, N] {
        let s[i, j]: C[M, N] = sum(k in 0..K) { a[i, k] as C * b[j, k] as C };
        c[i, j] = ((s[i, j] + bias[j]) as f32 * scale[j] * 0.01).round_ties_even() as i8;
    }";
    let schedule = "V: rows for p where K % 4 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        compute_at(s, thread, to: register);
        s { dot(k, 4); }
    }";
    check(kernel, schedule, &[(1, 1, 4), (13, 9, 36)]);
}

/// The sum is over several axes, and the channels are the words. Rows outside of the image are zeros.
#[test]
fn convolutions_over_channels() {
    let kernel = "fn conv<M, N, K>(a: A[M, 8], b: B[3, 8]) -> c: C[M] {
        c[i] = sum(r in 0..3, ch in 0..8) { a.pad(0)[i + r - 1, ch] as C * b[r, ch] as C };
    }";
    let kernel = kernel.replace("<M, N, K>", "<M, N = 1, K = 1>");
    let schedule = "V: conv for p { tile(i: 16) => workgroup(x); distribute(i => thread(x)); dot(ch, 4); }";
    for (types, op) in TYPES.into_iter().zip(INSTRUCTIONS) {
        for profile in able() {
            let variant = variant(&typed(&kernel, types), schedule, &profile);
            assert!(count(&variant, op) > 0, "{op:?} is missing");
            [1, 2, 17, 64].iter().for_each(|m| variant.check_filled(&[("M", *m)], &[], &|_| Fill::Wild));
        }
    }
}

/// Partial sums of several invocations, and blocks of the sum.
#[test]
fn partial_sums() {
    for directives in [
        "tile(i: 4, j: 1) => workgroup(y, x); tile(k: 32 => k_t); distribute(i => thread(y)); distribute(k_t => thread(x), by: tree); dot(k, 4);",
        "tile(k: 32 => k_o); rfactor(k_o => part); serial(i, j); part { tile(i: 4, j: 4) => workgroup(y, x); serial(k_o); distribute(i, j => thread(y, x)); dot(k, 4); }",
    ] {
        let facts = if directives.contains("tree") { "K == 256" } else { "K % 4 == 0" };
        let schedule = format!("V: rows for p where {facts} {{ {directives} }}");
        let ks: &[i64] = if directives.contains("tree") { &[256] } else { &[4, 96, 36, 0] };
        let sizes: Vec<(i64, i64, i64)> = ks.iter().map(|k| (5, 3, *k)).collect();
        check(ROWS, &schedule, &sizes);
    }
}

/// Runs a variant on constant factors, and compares each sum with Rust's.
fn run_constant<A: Element, B: Element, C: Element + PartialEq + std::fmt::Debug>(types: usize, a: A, b: B, wanted: C) {
    const COUNT: usize = 40_000;
    let schedule = "V: rows for p where K % 4 == 0 {
        tile(i: 4, j: 4) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        dot(k, 4);
    }";
    let variant = variant(&typed(ROWS, TYPES[types]), schedule, &able()[0]);
    for device in devices() {
        // SAFETY: the compiler made this program.
        let kernel = unsafe { device.load_programs(vec![variant.program.clone()]) }.expect("it loads");
        let a = device.upload([2, COUNT], &[a; 2 * COUNT]).expect("it fits");
        let b = device.upload([3, COUNT], &[b; 3 * COUNT]).expect("it fits");
        let outputs = kernel.run([Argument::from(&a), Argument::from(&b)]).expect("it runs");
        let result: Tensor<C> = outputs.into_iter().next().expect("one output").typed().expect("its dtype");
        assert_eq!(result.download().expect("it ends"), vec![wanted; 6], "{:?} on {}", TYPES[types], device.info().name);
    }
}

/// All products are the greatest or the least: the sum of four is exact, and the whole sum wraps as in Rust.
#[test]
fn extremes_are_exact() {
    run_constant(0, -128i8, -128i8, 40_000 * 16_384i32);
    run_constant(0, -128i8, 127i8, 40_000 * -16_256i32);
    run_constant(1, 255u8, 255u8, 40_000 * 65_025u32);
    run_constant(2, 255u8, 255u8, 40_000i32.wrapping_mul(65_025));
    run_constant(3, -128i8, 255u8, 40_000 * -32_640i32);
    run_constant(4, 255u8, -128i8, 40_000 * -32_640i32);
}

#[test]
fn dots_are_refused() {
    let [able, _] = able();
    let of = |kernel: &str| typed(kernel, TYPES[0]);
    let one = "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x));";
    for (kernel, directives, why) in [
        (ROWS, "dot(k, 4);", "not proved to be a multiple of 4"),
        (MATMUL, "tile(k: 8 => k_o); dot(k, 4);", "`k` ends at K, which may be within a word"),
        (MATMUL, "tile(k: 8 round_up => k_o); dot(k, 4);", "words are not proved to be aligned"),
        (ROWS, "dot(i, 4);", "`i` is"),
    ] {
        let schedule = format!("V: {} for p {{ {one} {directives} }}", if kernel == ROWS { "rows" } else { "matmul" });
        refused_on(&able, &of(kernel), &schedule, why);
    }
    let without = &profiles()[0];
    refused_on(
        without,
        &of(ROWS),
        &format!("V: rows for p where K % 4 == 0 {{ {one} dot(k, 4); }}"),
        "does not have `integer_dot_product`",
    );
}
