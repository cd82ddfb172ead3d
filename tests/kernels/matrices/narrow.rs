//! Products of bf16 and of 8-bit integers on matrix units, whose sums have 32 bits.

use crate::harness::{Fill, Variant, refused_on, variant};
use tilewright_dsl::profile::Profile;

/// The dtype of the factors and of the sum, profiles that multiply them, and the shape of their matrices.
fn units() -> Vec<([&'static str; 2], Profile, &'static str)> {
    let mut all = Vec::new();
    for types in [["i8", "i32"], ["u8", "u32"]] {
        all.push((types, Profile::mesa_lavapipe_26(), "8 x 8 x 8"));
        all.push((types, Profile::nvidia_hopper(), "16 x 16 x 32"));
        all.push((types, Profile::nvidia_ampere(), "16 x 8 x 32"));
        all.push((types, Profile::intel_xe2(), "8 x 16 x 32"));
    }
    all.push((["bf16", "f32"], Profile::nvidia_hopper(), "16 x 16 x 16"));
    all.push((["bf16", "f32"], Profile::intel_xe2(), "8 x 16 x 16"));
    all
}

/// Checks a kernel, in which `A` stands for the factors' dtype and `C` for the sum's, at sizes.
fn check(kernel: &str, schedule: &str, sizes: &[(i64, i64, i64)], scalars: &[f64]) {
    for ([a, c], profile, shape) in units() {
        let kernel = kernel.replace("A[", &format!("{a}[")).replace("C[", &format!("{c}[")).replace("as C", &format!("as {c}"));
        let (zero, wild) = if a == "bf16" { ("0.0", Fill::Small) } else { ("0", Fill::Wild) };
        let schedule = schedule.replace("SHAPE", shape).replace("ZERO", zero);
        let variant: Variant = variant(&kernel, &schedule, &profile);
        for (m, n, k) in sizes {
            let fill = |name: &str| if ["a", "b"].contains(&name) { wild } else { Fill::Small };
            variant.check_filled(&[("M", *m), ("N", *n), ("K", *k)], scalars, &fill);
        }
    }
}

const MATMUL: &str = "fn matmul<M, N, K>(a: A[M, K], b: A[K, N]) -> c: C[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as C * b[k, j] as C };
}";
const RAGGED: [(i64, i64, i64); 5] = [(1, 1, 1), (3, 7, 1), (130, 3, 7), (31, 37, 41), (8, 16, 0)];

#[test]
fn straight_from_device_memory() {
    let schedule = "V: matmul for p where M % 16 == 0, N % 16 == 0, K % 32 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        reorder(k, i, j);
        mma(i, j, k, SHAPE);
    }";
    check(MATMUL, schedule, &[(16, 16, 32), (32, 48, 96), (80, 16, 0)], &[]);
}

#[test]
fn from_shared_memory_at_any_size() {
    for copies in [
        "promote(a => a_s[i, k], at: k_o, to: shared, fill: ZERO, row_pad: 16);
         promote(b => b_s[k, j], at: k_o, to: shared, fill: ZERO, row_pad: 16);",
        "promote(a => a_s[k, i], at: k_o, to: shared, fill: ZERO, row_pad: 16);
         promote(b => b_s[j, k], at: k_o, to: shared, fill: ZERO);",
    ] {
        let schedule = format!(
            "V: matmul for p {{
                tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
                tile(k: 32 round_up => k_o);
                reorder(k_o, k, i, j);
                {copies}
                promote(c => c_s, at: workgroup, to: shared);
                tile(i: 16, j: 16) => subgroup(y, x);
                mma(i, j, k, SHAPE);
            }}"
        );
        check(MATMUL, &schedule, &RAGGED, &[]);
    }
}

/// A bias of the sum's type is added to matrices. A scale is applied to the floats of the sums.
#[test]
fn epilogues() {
    let whole = "V: dense for p where M % 32 == 0, N % 32 == 0, K % 32 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(i: 16, j: 16) => subgroup(y, x);
        reorder(k, i, j);
        mma(i, j, k, SHAPE);
    }";
    let sizes = [(32, 64, 32), (64, 32, 64)];
    let biased = "fn dense<M, N, K>(a: A[M, K], b: A[K, N], bias: C[N]) -> c: C[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as C * b[k, j] as C } + bias[j];
    }";
    check(biased, whole, &sizes, &[]);
    let scaled = "fn dense<M, N, K>(a: A[M, K], b: A[K, N], scale: f32[N], s: f32) -> c: f32[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] as C * b[k, j] as C } as f32 * scale[j]).max(s);
    }";
    check(scaled, whole, &sizes, &[-0.5]);
    // Elements of 8 bits are written through shared memory. The products are exact, so that all devices convert the same number.
    let quantized = "fn dense<M, N, K>(a: A[M, K], b: A[K, N], s: f32) -> c: i8[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] as C * b[k, j] as C } as f32 * s) as i8;
    }";
    let ragged = "V: dense for p {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[i, k], at: k_o, to: shared, fill: ZERO);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: ZERO);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 16, j: 16) => subgroup(y, x);
        mma(i, j, k, SHAPE);
    }";
    check(quantized, ragged, &[(31, 37, 41)], &[1.0 / 1024.0]);
}

#[test]
fn other_sums_are_refused_with_the_rows_of_the_profile() {
    let kernel = "fn matmul<M, N, K>(a: i8[M, K], b: i8[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
    }";
    let schedule = "V: matmul for p where M % 16 == 0, N % 16 == 0, K % 32 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        reorder(k, i, j);
        mma(i, j, k, 8 x 8 x 8);
    }";
    refused_on(&Profile::mesa_lavapipe_26(), kernel, schedule, "the factor `a[i, k] as f32` is computed");
}
