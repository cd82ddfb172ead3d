//! Shrunk findings of the differential tests about products on matrix units. Each kernel was wrong before it was fixed.

use crate::harness::{try_variant, variant};
use tilewright_dsl::profile::Profile;

/// A copy of the result that holds sums needed more shared memory than when it was made, and only the verifier counted it.
#[test]
fn mma_copies_of_wide_sums_fit() {
    let kernel = "fn k<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f16[M, N] {
        c[i, j] = (sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 }) as f16;
    }";
    let promoted = "promote(c => c_s, at: workgroup, to: shared);";
    for (first, last) in [(promoted, ""), ("", promoted)] {
        let schedule = format!(
            "V: k for p where M % 64 == 0, N % 32 == 0, K % 16 == 0 {{
                tile(i: 64, j: 32) => workgroup(y, x);
                reorder(k, i, j);
                {first}
                mma(i, j, k, 16 x 16 x 16);
                {last}
            }}"
        );
        let small = Profile { shared_bytes: 4096, ..Profile::nvidia_ampere() };
        let refusal = try_variant(kernel, &schedule, &small).err().expect("it takes 8192 bytes");
        assert!(
            !refusal.is_defect && refusal.text.contains("`c_s` does not fit: as accumulators of f32 it takes 8192 bytes"),
            "{}",
            refusal.text
        );
        let enough = Profile { shared_bytes: 8192, ..Profile::nvidia_ampere() };
        variant(kernel, &schedule, &enough).check(&[("M", 64), ("N", 64), ("K", 32)], &[]);
    }
}

/// A range that ends with a side of the matrices: each column has different operands.
#[test]
fn mma_sums_that_end_with_a_column() {
    let kernel = "fn k<N>(x0: f16[N, N], x1: f16[N, N]) -> y0: f16[N, N, N] {
        y0[i, j, h] = sum(k in 0..N, l in 0..h) { x0[k, h] * x1[j, k] };
    }";
    let schedule = "V: k for p where N % 8 == 0 {
        tile(i: 1, j: 8, h: 8) => workgroup(z, y, x);
        mma(j, h, k, 8 x 8 x 8);
    }";
    refused_here(kernel, schedule, "which may be within a matrix that is summed");
}

/// Rows in reverse order: a stride cannot be negative.
#[test]
fn mma_rows_backwards() {
    let kernel = "fn k<N>(x0: f16[N, N]) -> y0: f16[N, N] {
        y0[i, j] = sum(q in 0..N) { x0[(N - 1) - j, q] * x0[q, i] };
    }";
    let schedule = "V: k for p where N % 8 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        mma(i, j, q, 8 x 8 x 8);
    }";
    refused_here(kernel, schedule, "increasing order");
}

fn refused_here(kernel: &str, schedule: &str, why: &str) {
    let refusal = try_variant(kernel, schedule, &Profile::mesa_lavapipe_26()).err().expect("a refusal");
    assert!(refusal.text.contains(why) && !refusal.is_defect, "{}", refusal.text);
}
