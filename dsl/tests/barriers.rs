//! Barriers in the steps of pipelines.

use crate::steps::lowered;

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

fn product(pipeline: &str) -> String {
    let directives = "
        tile(i: 16 round_up, j: 16 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        PIPELINE
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);";
    lowered(MATMUL, "for arm_valhall", &directives.replace("PIPELINE", pipeline))
}

/// The fetch is placed between the reads and the stores, because only the stores need it.
#[test]
fn one_buffer() {
    insta::assert_snapshot!(product("pipeline(k_o, buffers: 1, prefetch: register, fetch: end early, store: end);"));
}

#[test]
fn two_buffers() {
    insta::assert_snapshot!(product("pipeline(k_o, buffers: 2, prefetch: register, fetch: start early, store: start early);"));
}

/// Shared memory that only one subgroup accesses needs barriers of that subgroup alone: the weights of its rows are computed before
/// it waits for the values.
#[test]
fn attention() {
    let kernel = "fn attention<N, M, D, E>(query: f16[N, D], key: f16[M, D], value: f16[M, E]) -> output: f32[N, E] {
        let score[i, j]: f32[N, M] = sum(d in 0..D) { query[i, d] as f32 * key[j, d] as f32 };
        let largest[i]: f32[N] = max(j in 0..M) { score[i, j] };
        let weight[i, j]: f32[N, M] = (score[i, j] - largest[i]).exp();
        let rounded[i, j]: f16[N, M] = weight[i, j] as f16;
        let total[i]: f32[N] = sum(j in 0..M) { weight[i, j] };
        output[i, e] = sum(j in 0..M) { rounded[i, j] as f32 * value[j, e] as f32 } / total[i];
    }";
    let directives = "
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 16);
        tile(i: 64) => workgroup(x);
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
        promote(query => q_f, at: workgroup, to: fragment);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after score);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after score, store: end);
        score { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 8 x 16); unroll(d); }
        m_b { split(j, [_, 8] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        l_b { split(j, [_, 8] => j_r, j); rfactor(j => l_p); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        m_p, l_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 8); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 8); }
        o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 8 x 16); unroll(j); }
        fragment(i, e, 16 x 8);";
    let head = "for nvidia_hopper where D == 16, E == 16, M % 16 == 0, N % 64 == 0";
    insta::assert_snapshot!(lowered(kernel, head, directives));
}
