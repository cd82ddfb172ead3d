//! Products on matrix units: operands from shared and device memory, in any layout, at sizes that divide nothing.

use crate::harness::{Variant, variant};
use tilewright_dsl::profile::Profile;

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
}";

/// Returns a variant for each shape of f16 matrices that devices have; `SHAPE` in the schedule is replaced by it.
fn variants<'v>(kernel: &'v str, schedule: &'v str) -> impl Iterator<Item = Variant> + 'v {
    let shapes = [
        (Profile::mesa_lavapipe_26(), "8 x 8 x 8"),
        (Profile::nvidia_hopper(), "16 x 16 x 16"),
        (Profile::nvidia_ampere(), "16 x 8 x 16"),
    ];
    shapes.into_iter().map(move |(profile, shape)| variant(kernel, &schedule.replace("SHAPE", shape), &profile))
}

fn check(kernel: &str, schedule: &str, sizes: &[(i64, i64, i64)]) {
    for variant in variants(kernel, schedule) {
        for (m, n, k) in sizes {
            variant.check(&[("M", *m), ("N", *n), ("K", *k)], &[]);
        }
    }
}

const RAGGED: [(i64, i64, i64); 7] = [(1, 1, 1), (3, 7, 1), (130, 3, 7), (1, 130, 3), (31, 37, 41), (64, 64, 64), (8, 16, 0)];

#[test]
fn straight_from_device_memory() {
    check(
        MATMUL,
        "V: matmul<T = f16> for p where M % 16 == 0, N % 16 == 0, K % 16 == 0 {
            tile(i: 16, j: 16) => workgroup(y, x);
            reorder(k, i, j);
            mma(i, j, k, SHAPE);
        }",
        &[(16, 16, 16), (32, 48, 80), (80, 16, 0)],
    );
}

#[test]
fn from_shared_memory() {
    check(
        MATMUL,
        "V: matmul<T = f16> for p where M % 32 == 0, N % 32 == 0 {
            tile(i: 32, j: 32) => workgroup(y, x);
            tile(k: 16 round_up => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            tile(i: 16, j: 16) => subgroup(y, x);
            mma(i, j, k, SHAPE);
            unroll(k);
        }",
        &[(32, 32, 16), (64, 96, 7), (32, 32, 0), (96, 32, 33)],
    );
}

/// The result is written back through shared memory, with predicates.
#[test]
fn ragged_results() {
    for copies in [
        "promote(a => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
         promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);",
        // Both orders in memory: rows or columns are consecutive.
        "promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 8);
         promote(b => b_s[j, k], at: k_o, to: shared, fill: 0.0);",
    ] {
        let schedule = format!(
            "V: matmul<T = f16> for p {{
                tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
                tile(k: 16 round_up => k_o);
                reorder(k_o, k, i, j);
                {copies}
                promote(c => c_s, at: workgroup, to: shared);
                tile(i: 16, j: 16) => subgroup(y, x);
                mma(i, j, k, SHAPE);
            }}"
        );
        check(MATMUL, &schedule, &RAGGED);
    }
}

/// Packing makes whole tiles, so that only packing and unpacking have guards.
#[test]
fn packed_to_whole_tiles() {
    let schedule = "V: matmul<T = f16> for p {
        pack(a[i, k] => [i / 32, k / 16, i % 32, k % 16], when: dispatch);
        pack(b[k, j] => [k / 16, k % 16, j / 64, j / 32 % 2, j % 32], when: dispatch);
        pack(c[i, j] => [i / 32, i % 32, j / 64, j / 32 % 2, j % 32], when: dispatch);
        c_packed {
            distribute(i_o, j_oo, j_o => workgroup(z, y, x));
            tile(k: 16 round_up => k_o);
            reorder(k_o, k, i, j);
            promote(a_packed => a_s[i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b_packed => b_s[k, j], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            pipeline(k_o, buffers: 1, prefetch: register);
            tile(i: 16, j: 16) => subgroup(y, x);
            mma(i, j, k, SHAPE);
        }
    }";
    check(MATMUL, schedule, &RAGGED);
}

/// Bias, activation and a residual, on fragments and past ragged ends.
#[test]
fn epilogues() {
    let kernel = "fn dense<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N], bias: f32[N], scale: f32[M], rest: f16[M, N], alpha: f32) -> c: f16[M, N] {
        c[i, j] = ((alpha * sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 } * scale[i] + bias[j]).max(0.0) + rest[i, j] as f32) as f16;
    }";
    let whole = "V: dense<T = f16> for p where M % 32 == 0, N % 32 == 0, K % 16 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(i: 16, j: 16) => subgroup(y, x);
        reorder(k, i, j);
        mma(i, j, k, SHAPE);
    }";
    let ragged = "V: dense<T = f16> for p {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[i, k], at: k_o, to: shared, fill: 0.0);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 16, j: 16) => subgroup(y, x);
        mma(i, j, k, SHAPE);
    }";
    for (schedule, sizes) in [(whole, &[(32, 64, 48), (64, 32, 16)][..]), (ragged, &RAGGED[..])] {
        for variant in variants(kernel, schedule) {
            for (m, n, k) in sizes {
                variant.check(&[("M", *m), ("N", *n), ("K", *k)], &[0.5]);
            }
        }
    }
}

/// Sums in f16, without named subgroups.
#[test]
fn sums_in_f16() {
    let kernel = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }";
    check(
        kernel,
        "V: matmul<T = f16> for p where M % 16 == 0, N % 16 == 0, K % 16 == 0 {
            tile(i: 16, j: 16) => workgroup(y, x);
            reorder(k, i, j);
            mma(i, j, k, SHAPE);
        }",
        &[(16, 16, 16), (32, 48, 80)],
    );
}

/// A batch, and a convolution as a product over its channels and taps.
#[test]
fn batches_and_convolutions() {
    let batched = "fn bmm<T: f32 | f16, B, M, N, K>(a: T[B, M, K], b: T[B, N, K]) -> c: f32[B, M, N] {
        c[z, i, j] = sum(k in 0..K) { a[z, i, k] as f32 * b[z, j, k] as f32 };
    }";
    let schedule = "V: bmm<T = f16> for p {
        tile(z: 1, i: 16 round_up, j: 32 round_up) => workgroup(z, y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0);
        promote(c => c_s, at: workgroup, to: shared);
        tile(j: 16) => subgroup(x);
        mma(i, j, k, SHAPE);
    }";
    for variant in variants(batched, schedule) {
        for (z, m, n, k) in [(3, 17, 33, 9), (1, 16, 32, 8), (2, 5, 1, 20)] {
            variant.check(&[("B", z), ("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn implicit_convolution() {
    let kernel =
        "fn conv<T: f32 | f16, N, H, W, C, O, OH = H - 2, OW = W - 2>(x: T[N, H, W, C], w: T[3, 3, C, O]) -> y: f32[N, OH, OW, O] {
        y[n, h, q, o] = sum(fh in 0..3, fw in 0..3, c in 0..C) { x[n, h + fh, q + fw, c] as f32 * w[fh, fw, c, o] as f32 };
    }";
    let schedule = "V: conv<T = f16> for p {
        fuse(h, q => p);
        tile(n: 1, p: 32 round_up, o: 16 round_up) => workgroup(z, y, x);
        tile(c: 16 round_up => c_o);
        reorder(fh, fw, c_o, c, p, o);
        promote(x => x_s[p, c], at: c_o, to: shared, fill: 0.0);
        promote(w => w_s[c, o], at: c_o, to: shared, fill: 0.0);
        promote(y => y_s[p, o], at: workgroup, to: shared);
        tile(p: 16) => subgroup(x);
        mma(p, o, c, SHAPE);
    }";
    for variant in variants(kernel, schedule) {
        for (n, h, w, c, o) in [(1, 5, 7, 3, 5), (2, 9, 8, 16, 20), (1, 3, 3, 1, 1)] {
            variant.check(&[("N", n), ("H", h), ("W", w), ("C", c), ("O", o)], &[]);
        }
    }
}

/// The planned sums of halves leave their fragments in slices, with guards at sizes that no tile divides.
#[test]
fn planned_in_slices() {
    let activated = "fn k<B, M, N, K>(a: f16[B, M, K], b: f16[B, K, N], bias: f32[N]) -> c: f16[B, M, N] {
        c[n, i, j] = (sum(k in 0..K) { a[n, i, k] as f32 * b[n, k, j] as f32 } + bias[j]).max(0.0) as f16;
    }";
    for profile in [Profile::nvidia_hopper(), Profile::amd_rdna3()] {
        let variants = [
            (variant(MATMUL, "V: matmul<T = f16> for p where K % 8 == 0, N % 8 == 0 {}", &profile), None),
            (variant(activated, "V: k for p where K % 8 == 0, N % 8 == 0 {}", &profile), Some(("B", 2))),
        ];
        for (variant, batch) in variants {
            for (m, n, k) in [(1, 8, 8), (130, 72, 0), (129, 72, 136), (257, 8, 64)] {
                let sizes: Vec<_> = batch.into_iter().chain([("M", m), ("N", n), ("K", k)]).collect();
                variant.check(&sizes, &[]);
            }
        }
    }
}
