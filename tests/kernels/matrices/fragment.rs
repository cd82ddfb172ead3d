//! Stages on a subgroup's matrices, element by element, and values that stay in fragments between them.

use crate::harness::{Variant, instructions, variant};
use tilewright_dsl::profile::Profile;

/// Returns a variant for each shape of f16 matrices that devices have.
pub fn variants<'v>(kernel: &'v str, schedule: &'v str) -> impl Iterator<Item = Variant> + 'v {
    variants_on(kernel, schedule, |_| true)
}

/// Returns these variants for the profiles that satisfy `will_do`.
pub fn variants_on<'v>(
    kernel: &'v str,
    schedule: &'v str,
    will_do: impl Fn(&Profile) -> bool + 'v,
) -> impl Iterator<Item = Variant> + 'v {
    let shapes = [
        (Profile::mesa_lavapipe_26(), [8, 8, 8]),
        (Profile::nvidia_hopper(), [16, 16, 16]),
        (Profile::nvidia_ampere(), [16, 8, 16]),
    ];
    shapes.into_iter().filter(move |(profile, _)| will_do(profile)).map(move |(profile, [m, n, k])| {
        let shape = schedule.replace("SHAPE", &format!("{m} x {n} x {k}")).replace("SIDES", &format!("{m} x {n}"));
        variant(kernel, &shape.replace("COLUMNS", &n.to_string()).replace("ROWS", &m.to_string()), &profile)
    })
}

const WEIGHTS: &str = "fn weights<M, N, K>(a: f16[M, K], b: f16[N, K], r: f32[M], scale: f32) -> w: f32[M, N] {
    let s[i, j]: f32[M, N] = scale * sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
    w[i, j] = (s[i, j] - r[i] * 2.0).exp();
}";

/// The sums of products stay in fragments.
#[test]
fn weights_of_scores() {
    let schedule = "V: weights for p where M % 32 == 0, N % 16 == 0, K % 16 == 0 {
        tile(i: 32, j: 16) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        fragment(i, j, SIDES);
    }";
    for variant in variants(WEIGHTS, schedule) {
        for (m, n, k) in [(32, 16, 16), (64, 48, 32), (32, 32, 0)] {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[0.5]);
        }
    }
}

/// Comparisons of an element's row and column, of all kinds and at several slopes, also if whole matrices are far from the line.
#[test]
fn choices_by_rows_and_columns() {
    let schedule = "V: chosen for p where SIZES, K % 16 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        fragment(i, j, SIDES);
    }";
    for op in ["<", "<=", ">", ">=", "==", "!="] {
        let kernel = format!(
            "fn chosen<M, N, K>(a: f16[M, K], b: f16[N, K]) -> w: f32[M, N] {{
                let s[i, j]: f32[M, N] = sum(k in 0..K) {{ a[i, k] as f32 * b[j, k] as f32 }};
                w[i, j] = if 3 * i {op} 2 * j + 5 {{ s[i, j] }} else {{ if i {op} j {{ s[i, j] * 2.0 }} else {{ if j {op} 40 {{ -s[i, j] }} else {{ 0.5 }} }} }};
            }}"
        );
        for variant in variants(&kernel, &schedule.replace("SIZES", "M % 32 == 0, N % 32 == 0")) {
            for (m, n) in [(32, 32), (96, 160)] {
                variant.check(&[("M", m), ("N", n), ("K", 16)], &[]);
            }
        }
        // At sizes at which `3 * i` may wrap, elements compare coordinates. If it is known not to wrap, they compare one number
        // with a threshold.
        const CONVERT_F_TO_S: u32 = 110;
        for variant in variants(&kernel, &schedule.replace("SIZES", "M == 96, N == 160")) {
            assert!(instructions(&variant.program.dispatches[0].spirv).iter().all(|(op, _)| *op != CONVERT_F_TO_S), "{op}");
            variant.check(&[("M", 96), ("N", 160), ("K", 16)], &[]);
        }
    }
}

const ATTENTION: &str =
    "fn attention<T: f32 | f16, B, N, M, D, E>(query: T[B, N, D], key: T[B, M, D], value: T[B, M, E], scale: f32)
    -> output: f32[B, N, E] {
    let score[b, i, j]: f32[B, N, M] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
    let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
    let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
    let rounded[b, i, j]: T[B, N, M] = weight[b, i, j] as T;
    let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
    output[b, i, e] = sum(j in 0..M) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i];
}";

/// Flash attention: scores, weights and the output are in fragments; maxima and sums of rows are exchanged through shared memory. The
/// output is also written through shared memory. It is finished in fragments, because the shared copy holds one component of the state.
#[test]
fn attention_in_blocks() {
    let schedule = "V: attention<T = f16> for p where D == 32, E == 16, M % 32 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: shared);
        compute_at(l_p, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: shared);
        compute_at(m_p, j_o, to: shared);
        compute_at(score, j_o, to: fragment);
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        score { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); unroll(d); }
        m_b { split(j, [_, COLUMNS] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        l_b { split(j, [_, COLUMNS] => j_r, j); rfactor(j => l_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        m_p, l_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, SIDES); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }
        fragment(i, e, SIDES);
    }";
    let last = "fragment(i, e, SIDES);\n    }";
    let promoted = schedule.replace(last, "fragment(i, e, SIDES); promote(output => o_s, at: workgroup, to: shared); }");
    assert_ne!(promoted, schedule);
    for variant in variants(ATTENTION, schedule).chain(variants(ATTENTION, &promoted)) {
        for (b, n, m) in [(1, 32, 32), (2, 64, 96), (3, 32, 64)] {
            variant.check(&[("B", b), ("N", n), ("M", m), ("D", 32), ("E", 16)], &[0.25]);
        }
    }
}

pub(crate) const CAUSAL: &str =
    "fn causal<B, N, D, E>(query: f16[B, N, D], key: f16[B, N, D], value: f16[B, N, E], scale: f32) -> output: f16[B, N, E] {
    let product[b, i, j]: f32[B, N, N] = sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
    let score[b, i, j]: f32[B, N, N] = product[b, i, j] * scale;
    let largest[b, i]: f32[B, N] = max(j in 0..i + 1) { score[b, i, j] };
    let weight[b, i, j]: f32[B, N, N] = (score[b, i, j] - largest[b, i]).exp2();
    let rounded[b, i, j]: f16[B, N, N] = weight[b, i, j] as f16;
    let total[b, i]: f32[B, N] = sum(j in 0..i + 1) { weight[b, i, j] };
    output[b, i, e] = (sum(j in 0..i + 1) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i]) as f16;
}";

/// Scores beyond a row's own key are masked in matrices across the diagonal.
#[test]
fn causal_attention_in_blocks() {
    let schedule = "V: causal for p where D == 32, E == 16, N % 32 == 0, finite(value) {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 16) => subgroup(x);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: shared);
        compute_at(l_p, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: shared);
        compute_at(m_p, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); unroll(d); }
        m_b { split(j, [_, COLUMNS] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        l_b { split(j, [_, COLUMNS] => j_r, j); rfactor(j => l_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        m_p, l_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, SIDES); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }
        fragment(i, e, SIDES);
    }";
    const MUL_ADD: u32 = 4459;
    // The number of products of a step: blocks completely below the diagonal have a separate loop, except with CPU drivers.
    for (variant, products) in variants(CAUSAL, schedule).zip([48, 2 * 6, 2 * 12]) {
        let multiplies = |(op, _): &(u32, Vec<u32>)| *op == MUL_ADD;
        assert_eq!(instructions(&variant.program.dispatches[0].spirv).into_iter().filter(multiplies).count(), products);
        for (b, n) in [(1, 32), (2, 64), (1, 160)] {
            variant.check(&[("B", b), ("N", n), ("D", 32), ("E", 16)], &[0.25]);
        }
    }
}
