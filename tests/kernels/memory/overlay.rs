//! Shared buffers that use the same memory at different times, because they do not fit beside each other.

use crate::harness::{Variant, profiles, refused_on, try_variant};
use tilewright_dsl::profile::Profile;

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

/// Copies of both factors take 2 KiB together, and the result takes 2 KiB.
const THROUGH_SHARED: &str = "V: matmul for p {
    tile(i: 16, j: 32) => workgroup(y, x);
    tile(k: 8 => k_o);
    reorder(k_o, k, i, j);
    promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
    promote(b => b_s[k, j], at: k_o, to: shared);
    PIPELINE
    promote(c => c_s, at: workgroup, to: shared);
    tile(i: 2, j: 4) => thread(y, x);
    unroll(i, j);
}";

const SIZES: [(i64, i64, i64); 5] = [(1, 1, 1), (17, 33, 7), (48, 64, 40), (31, 37, 41), (16, 32, 0)];

/// Compiles for each of the harness's profiles with this much shared memory.
fn within(bytes: u32, kernel: &str, schedule: &str) -> Vec<Variant> {
    let of = |profile: Profile| {
        let profile = Profile { shared_bytes: bytes, ..profile };
        try_variant(kernel, schedule, &profile).unwrap_or_else(|refusal| panic!("{}", refusal.text))
    };
    profiles().into_iter().map(of).collect()
}

/// Returns the shared memory that a variant takes.
fn taken(variant: &Variant) -> u32 {
    variant.program.requires.shared_bytes
}

#[test]
fn a_result_takes_the_place_of_its_operands() {
    for (pipeline, needed) in [("", 2048), ("pipeline(k_o, buffers: 2, prefetch: register);", 3328)] {
        let schedule = THROUGH_SHARED.replace("PIPELINE", pipeline);
        for (narrow, wide) in within(needed, MATMUL, &schedule).iter().zip(within(16384, MATMUL, &schedule)) {
            assert_eq!((taken(narrow), taken(&wide)), (needed, if pipeline.is_empty() { 3712 } else { 5376 }));
            for (m, n, k) in SIZES {
                narrow.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
}

/// The result of one tile is read while the next tile's operands wait for the memory.
#[test]
fn tiles_one_after_the_other() {
    let schedule = THROUGH_SHARED
        .replace("PIPELINE", "")
        .replace("tile(i: 16, j: 32) => workgroup(y, x);", "tile(i: 16) => workgroup(y); tile(j: 32 => j_o);")
        .replace("reorder(k_o, k, i, j);", "reorder(j_o, k_o, k, i, j); serial(j_o);")
        .replace("at: workgroup", "at: j_o");
    for variant in within(2048, MATMUL, &schedule) {
        SIZES.iter().for_each(|(m, n, k)| variant.check(&[("M", *m), ("N", *n), ("K", *k)], &[]));
    }
}

/// Stages of a chain: the first one is dead when the third one is computed.
#[test]
fn stages_of_a_chain() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] {
        let a[i]: f32[N + 4] = x.clamp()[i - 2] * 2.0;
        let b[i]: f32[N + 2] = a[i] + a[i + 1] + a[i + 2];
        let c[i]: f32[N] = b[i] * b[i + 2];
        y[i] = c[i] - x[i];
    }";
    let schedule = "V: k for p {
        tile(i: 64 round_up) => workgroup(x);
        compute_at(c, workgroup, to: shared);
        compute_at(b, workgroup, to: shared);
        compute_at(a, workgroup, to: shared);
        distribute(i => thread(x));
    }";
    for variant in within(560, kernel, schedule) {
        assert!(taken(&variant) < 4 * (64 + 66 + 68), "{}", taken(&variant));
        [1, 63, 64, 65, 200].iter().for_each(|n| variant.check(&[("N", *n)], &[]));
    }
}

#[test]
fn buffers_that_are_live_together_do_not_share() {
    let small = Profile { shared_bytes: 2044, ..profiles()[0].clone() };
    refused_on(
        &small,
        MATMUL,
        &THROUGH_SHARED.replace("PIPELINE", ""),
        "error: `c_s` does not fit: it takes 2048 bytes of shared memory",
    );
    let small = Profile { shared_bytes: 1660, ..profiles()[0].clone() };
    refused_on(
        &small,
        MATMUL,
        &THROUGH_SHARED.replace("PIPELINE", "").replace("promote(c => c_s, at: workgroup, to: shared);", ""),
        "error: `b_s` does not fit: it takes 1024 bytes of shared memory",
    );
}
