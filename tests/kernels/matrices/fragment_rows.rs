//! Reductions along the rows of matrices, and fragments of sums that are used as factors.

use super::fragment::{CAUSAL, variants_on};
use crate::harness::variant;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// Returns the strategies that a profile supports.
fn ways(profile: &Profile) -> &'static [&'static str] {
    if profile.has(Feature::MatrixReductions) { &["shared", "matrix"] } else { &["shared"] }
}

const EXTREMES: &str = "fn extremes<M, N, K>(a: f16[M, K], b: f16[N, K], r: f32[M, N]) -> w: f32[M, N] {
    let s[i, j]: f32[M, N] = sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
    let e[i]: f32[M] = OPERATION(j in 0..N) { (s[i, j] + r[i, j]) * 0.03125 + 1.0 };
    w[i, j] = s[i, j] - e[i];
}";

/// Rows of several matrices and of several subgroups; odd numbers of matrices, and a single matrix.
#[test]
fn rows_are_combined() {
    let schedule = "V: extremes for p where N == COUNT, M % 32 == 0, K % 16 == 0 {
        tile(i: 32) => workgroup(x);
        tile(i: 16) => subgroup(x);
        compute_at(e, workgroup, to: fragment);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        e { tile(i: 16) => subgroup(x); fragment(i, j, SIDES, by: WAY); }
        fragment(i, j, SIDES);
    }";
    for (operation, counts) in [("max", &[16, 48][..]), ("sum", &[32]), ("min", &[16]), ("prod", &[16])] {
        for count in counts.iter().copied() {
            let kernel = EXTREMES.replace("OPERATION", operation);
            let schedule = schedule.replace("COUNT", &count.to_string());
            for profile in [Profile::mesa_lavapipe_26(), Profile::nvidia_hopper(), Profile::nvidia_ampere()] {
                let shape = if profile.subgroup == Some(8) { "8 x 8 x 8" } else { "16 x 16 x 16" };
                let schedule = schedule.replace("SHAPE", shape).replace("SIDES", shape.rsplit_once(" x ").map_or("", |s| s.0));
                for way in ways(&profile) {
                    let variant = variant(&kernel, &schedule.replace("WAY", way), &profile);
                    for (m, k) in [(64, 48), (32, 0)] {
                        variant.check(&[("M", m), ("N", count), ("K", k)], &[]);
                    }
                }
            }
        }
    }
}

const ATTENTION: &str = "fn attention<B, N, M, D, E>(query: f16[B, N, D], key: f16[B, M, D], value: f16[B, M, E], scale: f32)
    -> output: f32[B, N, E] {
    let score[b, i, j]: f32[B, N, M] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
    let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
    let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
    let rounded[b, i, j]: f16[B, N, M] = weight[b, i, j] as f16;
    let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
    output[b, i, e] = sum(j in 0..M) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i];
}";

/// Flash attention in which scores, maxima, weights and sums never leave the fragments.
#[test]
fn attention_in_fragments() {
    let schedule = "V: attention for p where D == 16, E == 16, M % 16 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: ROWS) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: fragment);
        compute_at(rounded, j_o, to: ROUNDED);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: fragment);
        compute_at(score, j_o, to: fragment);
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        score { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); }
        m_b, l_b { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES, by: WAY); }
        weight, rounded { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: ROWS) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }
        fragment(i, e, SIDES);
    }";
    // Also with several matrices of rows for each subgroup.
    for (way, rows) in [("matrix", "ROWS"), ("shared", "ROWS"), ("matrix", "32"), ("shared", "32")] {
        for rounded in ["fragment", "shared, row_pad: 8"] {
            let schedule = schedule.replace("WAY", way).replace("ROUNDED", rounded).replace("ROWS", rows);
            let has_both = |p: &Profile| p.has(Feature::MatrixReductions) || (way, rounded) == ("shared", "shared, row_pad: 8");
            for variant in variants_on(ATTENTION, &schedule, has_both) {
                for (b, n, m) in [(1, 32, 16), (2, 64, 48)] {
                    variant.check(&[("B", b), ("N", n), ("M", m), ("D", 16), ("E", 16)], &[0.25]);
                }
            }
        }
    }
}

/// Weights are copied through shared memory one slice at a time.
#[test]
fn slices_of_fragments() {
    let schedule = "V: attention for p where D == 16, E == 16, M % 32 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: ROWS) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: fragment);
        compute_at(rounded, j_o, to: fragment);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: fragment);
        compute_at(score, j_o, to: fragment);
        score { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); }
        m_b, l_b { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES, by: shared); }
        weight, rounded, p_s { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES); }
        o_b {
            tile(j: 16 => j_p);
            tile(i: ROWS) => subgroup(x);
            reorder(j_p, j, i, e);
            promote(rounded => p_s, at: j_p, to: shared, row_pad: 8);
            mma(i, e, j, SHAPE);
            unroll(j_p, j);
        }
        fragment(i, e, SIDES);
    }";
    for variant in variants_on(ATTENTION, schedule, |_| true) {
        for (b, n, m) in [(1, 32, 32), (2, 64, 96)] {
            variant.check(&[("B", b), ("N", n), ("M", m), ("D", 16), ("E", 16)], &[0.25]);
        }
    }
}

/// The shared memory of the rows' sums reuses the dead storage of partial maxima.
#[test]
fn sums_over_the_parts_of_maxima() {
    let schedule = "V: attention for p where D == 16, E == 16, M % 32 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: ROWS) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: fragment);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: shared);
        compute_at(m_p, j_o, to: shared);
        compute_at(score, j_o, to: fragment);
        score { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); }
        m_b { split(j, [_, COLUMNS] => j_r, j); rfactor(j => m_p); tile(i: ROWS) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        l_b { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES, by: shared); }
        m_p { tile(i: ROWS) => subgroup(x); reorder(j_r, i, j); fragment(i, j, SIDES); unroll(j_r); }
        weight, rounded { tile(i: ROWS) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: ROWS) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }
        fragment(i, e, SIDES);
    }";
    for (variant, columns) in variants_on(ATTENTION, schedule, |_| true).zip([8, 16, 8]) {
        let (rounded, parts, largest, sums) = (32 * (32 + 8) * 2, 32 * columns * 4, 32 * 4, 32 * 4);
        assert_eq!(variant.program.requires.shared_bytes, rounded + parts + largest + sums);
        for (b, n, m) in [(1, 32, 32), (2, 64, 96), (1, 32, 0)] {
            variant.check(&[("B", b), ("N", n), ("M", m), ("D", 16), ("E", 16)], &[0.25]);
        }
    }
}

/// Neither size divides the other: the rows of a workgroup end within a block, where weights are set to 0 through shared memory.
#[test]
fn causal_rows_that_end_within_a_block() {
    let schedule = "V: causal for p where D == 16, E == 16, N % 96 == 0, finite(value) {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 48);
        tile(b: 1, i: 32) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 16) => subgroup(x);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: fragment);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: fragment);
        compute_at(product, j_o, to: fragment);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); }
        m_b, l_b { tile(i: 16) => subgroup(x); fragment(i, j, SIDES, by: shared); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); }
        fragment(i, e, SIDES);
    }";
    for variant in variants_on(CAUSAL, schedule, |_| true) {
        for (b, n) in [(1, 96), (2, 96)] {
            variant.check(&[("B", b), ("N", n), ("D", 16), ("E", 16)], &[0.25]);
        }
    }
}
