//! Stages in fragments in other shapes: epilogues and residuals, reduced rows, copies of factors, subgroups in one direction, in
//! two and in none, f16 results, batches; and shrunk findings of the differential tests about them.

use crate::harness::try_variant;
use crate::matrices::fragment::variants;
use tilewright_dsl::profile::Profile;

/// Checks a kernel at all sizes, for each shape of matrices.
fn check(kernel: &str, schedule: &str, sizes: &[&[(&str, i64)]], scalars: &[f64]) {
    for variant in variants(kernel, schedule) {
        sizes.iter().for_each(|dims| variant.check(dims, scalars));
    }
}

/// Checks that a schedule is refused by its directives and not by the verifier.
fn refused(kernel: &str, schedule: &str, why: &str) {
    let refusal = try_variant(kernel, schedule, &Profile::nvidia_hopper()).err().unwrap_or_else(|| panic!("accepted\n{schedule}"));
    assert!(refusal.text.contains(why) && !refusal.is_defect, "{}", refusal.text);
}

/// A scale of columns, a shift of rows, a residual and a ramp; the stored result is f16.
#[test]
fn epilogues_of_rows_columns_and_both() {
    let kernel = "fn k<M, N, K>(a: f16[M, K], b: f16[K, N], g: f32[N], h: f32[M], r: f32[M, N], scale: f32) -> y: f16[M, N] {
        let s[i, j]: f32[M, N] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
        y[i, j] = ((s[i, j] * g[j] + h[i] * scale - r[i, j]).max(0.0) / (h[i].abs() + 1.0)) as f16;
    }";
    let schedule = "V: k for p where M % 32 == 0, N % 32 == 0, K % 16 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(i: 16, j: 16) => subgroup(y, x);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16, j: 16) => subgroup(y, x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        fragment(i, j, SIDES);
    }";
    let sizes: [&[(&str, i64)]; 3] =
        [&[("M", 32), ("N", 32), ("K", 16)], &[("M", 96), ("N", 64), ("K", 48)], &[("M", 32), ("N", 96), ("K", 0)]];
    check(kernel, schedule, &sizes, &[0.75]);
}

/// A workgroup of one subgroup, without an axis that is distributed to subgroups.
#[test]
fn one_subgroup() {
    let kernel = "fn k<M, N, K>(a: f16[M, K], b: f16[N, K]) -> y: f32[M, N] {
        let s[i, j]: f32[M, N] = sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
        let e[i, j]: f32[M, N] = s[i, j].exp();
        y[i, j] = e[i, j] / (s[i, j] * s[i, j] + 1.0);
    }";
    let schedule = "V: k for p where M % 16 == 0, N % 48 == 0, K % 16 == 0 {
        tile(i: 16, j: 48) => workgroup(y, x);
        compute_at(e, workgroup, to: fragment);
        compute_at(s, workgroup, to: fragment);
        s { reorder(k, i, j); mma(i, j, k, SHAPE); }
        e { fragment(i, j, SIDES); }
        fragment(i, j, SIDES);
    }";
    check(kernel, schedule, &[&[("M", 16), ("N", 48), ("K", 16)], &[("M", 48), ("N", 96), ("K", 32)]], &[]);
}

/// Batches, and two products that meet in one result.
#[test]
fn gates_in_batches() {
    let kernel = "fn k<B, M, N, K>(a: f16[B, M, K], u: f16[B, K, N], v: f16[K, N]) -> y: f32[B, M, N] {
        let s[b, i, j]: f32[B, M, N] = sum(k in 0..K) { a[b, i, k] as f32 * u[b, k, j] as f32 };
        let t[b, i, j]: f32[B, M, N] = sum(k in 0..K) { a[b, i, k] as f32 * v[k, j] as f32 };
        y[b, i, j] = s[b, i, j] / (1.0 + (-s[b, i, j]).exp()) * t[b, i, j];
    }";
    let schedule = "V: k for p where M % 16 == 0, N % 64 == 0, K % 16 == 0 {
        tile(b: 1, i: 16, j: 64) => workgroup(z, y, x);
        tile(j: 32) => subgroup(x);
        compute_at(s, workgroup, to: fragment);
        compute_at(t, workgroup, to: fragment);
        s, t { tile(j: 32) => subgroup(x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        fragment(i, j, SIDES);
    }";
    check(kernel, schedule, &[&[("B", 1), ("M", 16), ("N", 64), ("K", 32)], &[("B", 3), ("M", 32), ("N", 128), ("K", 16)]], &[]);
}

const SOFTMAX: &str = "fn k<M, N, K>(a: f16[M, K], b: f16[N, K], scale: f32) -> w: f32[M, N] {
    let s[i, j]: f32[M, N] = scale * sum(k in 0..K) { a[i, k] as f32 * b[j, k] as f32 };
    let m[i]: f32[M] = max(j in 0..N) { s[i, j] };
    let e[i, j]: f32[M, N] = (s[i, j] - m[i]).exp();
    let l[i]: f32[M] = sum(j in 0..N) { e[i, j] };
    w[i, j] = e[i, j] / l[i];
}";

/// Rows of a softmax are in fragments; partial maxima and sums are combined by lanes.
#[test]
fn softmax_of_rows() {
    let schedule = "V: k for p where M % 32 == 0, N == 96, K % 16 == 0 {
        tile(i: 32) => workgroup(x);
        tile(i: 16) => subgroup(x);
        compute_at(l, workgroup, to: shared);
        compute_at(l_p, workgroup, to: shared, row_pad: 4);
        compute_at(e, workgroup, to: fragment);
        compute_at(m, workgroup, to: shared);
        compute_at(m_p, workgroup, to: shared);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, SHAPE); }
        m { split(j, [_, COLUMNS] => j_r, j); rfactor(j => m_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        l { split(j, [_, COLUMNS] => j_r, j); rfactor(j => l_p); tile(i: 16) => subgroup(x); tile(i: 8); distribute(i => lane(x)); serial(i_o); }
        m_p, l_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, SIDES); unroll(j_r); }
        e { tile(i: 16) => subgroup(x); fragment(i, j, SIDES); }
        fragment(i, j, SIDES);
    }";
    check(SOFTMAX, schedule, &[&[("M", 32), ("N", 96), ("K", 16)], &[("M", 96), ("N", 96), ("K", 48)]], &[0.5]);
}

/// Reductions whose axes are loops around the matrices, in one dispatch and from device memory.
#[test]
fn whole_matrices_are_reduced() {
    let kernel = "fn k<B, M, N>(x: f32[B, M, N], r: f32[M, N]) -> (y: f32[M, N], z: f32[M, N]) {
        y[i, j] = max(b in 0..B) { x[b, i, j] - r[i, j] };
        z[i, j] = sum(b in 0..B) { x[b, i, j] * x[b, i, j] } + r[i, j];
    }";
    let schedule = "V: k for p where M % 16 == 0, N % 32 == 0 {
        y, z { tile(i: 16, j: 32) => workgroup(y, x); tile(j: 16) => subgroup(x); reorder(b, i, j); fragment(i, j, SIDES); }
    }";
    check(
        kernel,
        schedule,
        &[&[("B", 1), ("M", 16), ("N", 32)], &[("B", 5), ("M", 48), ("N", 64)], &[("B", 0), ("M", 16), ("N", 64)]],
        &[],
    );
}

const PRODUCT: &str = "fn k<M, N, K>(a: f16[M, K], b: f16[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] as f32 * b[k, j] as f32 };
}";

/// Both factors are copied to fragments, each by the subgroups that read it; some subgroups have the same factor.
#[test]
fn factors_in_fragments() {
    let tiles = "tile(i: 64, j: 32) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);";
    let copies = "promote(a => a_f, at: k_o, to: fragment);
        promote(b => b_f, at: k_o, to: fragment);";
    let rest = "mma(i, j, k, SHAPE); unroll(k);";
    let sizes: [&[(&str, i64)]; 3] =
        [&[("M", 64), ("N", 32), ("K", 32)], &[("M", 128), ("N", 96), ("K", 96)], &[("M", 64), ("N", 64), ("K", 0)]];
    for subgroups in ["", "tile(i: 32) => subgroup(x);", "tile(j: 16) => subgroup(x);", "tile(i: 32, j: 16) => subgroup(y, x);"] {
        let schedule = format!(
            "V: k for p where M % 64 == 0, N % 32 == 0, K % 32 == 0 {{
                {tiles}
                {copies}
                {subgroups}
                {rest}
            }}"
        );
        check(PRODUCT, &schedule, &sizes, &[]);
    }
}

/// Factors come from shared memory, also for a whole sum.
#[test]
fn factors_by_way_of_shared_memory() {
    let schedule = "V: k for p where M % 32 == 0, N % 16 == 0, K == 32 {
        tile(i: 32) => workgroup(x);
        tile(j: 16 => j_o);
        reorder(j_o, k, i, j);
        serial(j_o);
        promote(a => a_s, at: workgroup, to: shared, row_pad: 8);
        promote(a_s => a_f, at: workgroup, to: fragment);
        promote(b => b_s, at: j_o, to: shared, row_pad: 8);
        tile(i: 16) => subgroup(x);
        mma(i, j, k, SHAPE);
        unroll(k);
    }";
    check(PRODUCT, schedule, &[&[("M", 32), ("N", 16), ("K", 32)], &[("M", 96), ("N", 80), ("K", 32)]], &[]);
}

/// A product whose factor is computed from another product: a subgroup waits for its own rows in shared memory.
#[test]
fn products_one_after_another() {
    let kernel = "fn k<M, H, N, K>(x: f16[M, K], u: f16[K, H], v: f16[H, N], r: f32[H]) -> y: f16[M, N] {
        let s[i, h]: f32[M, H] = sum(k in 0..K) { x[i, k] as f32 * u[k, h] as f32 };
        let g[i, h]: f16[M, H] = ((s[i, h] + r[h]).max(0.0)) as f16;
        let t[i, j]: f32[M, N] = sum(h in 0..H) { g[i, h] as f32 * v[h, j] as f32 };
        y[i, j] = (t[i, j] * 0.5) as f16;
    }";
    for (count, subgroups) in [(16, "tile(i: 16) => subgroup(x);"), (32, "tile(i: 16) => subgroup(x);"), (16, "")] {
        let schedule = format!(
            "V: k for p where M % {count} == 0, H % 32 == 0, N == 32, K % 16 == 0 {{
                tile(i: {count}) => workgroup(x);
                {subgroups}
                compute_at(t, workgroup, to: fragment);
                t {{
                    tile(h: 32 => h_o);
                    reorder(h_o, h, i, j);
                    compute_at(g, h_o, to: shared, row_pad: 8);
                    compute_at(s, h_o, to: fragment);
                    {subgroups}
                    mma(i, j, h, SHAPE);
                }}
                s {{ {subgroups} reorder(k, i, h); mma(i, h, k, SHAPE); }}
                g {{ {subgroups} fragment(i, h, SIDES); }}
                fragment(i, j, SIDES);
            }}"
        );
        let sizes: [&[(&str, i64)]; 2] =
            [&[("M", 32), ("H", 32), ("N", 32), ("K", 16)], &[("M", 64), ("H", 96), ("N", 32), ("K", 32)]];
        check(kernel, &schedule, &sizes, &[]);
    }
}

const ATTENTION: &str =
    "fn k<B, N, M, D, E>(query: f16[B, N, D], key: f16[B, M, D], value: f16[B, M, E], scale: f32) -> output: f16[B, N, E] {
    let score[b, i, j]: f32[B, N, M] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
    let largest[b, i]: f32[B, N] = max(j in 0..M) { score[b, i, j] };
    let weight[b, i, j]: f32[B, N, M] = (score[b, i, j] - largest[b, i]).exp();
    let rounded[b, i, j]: f16[B, N, M] = weight[b, i, j] as f16;
    let total[b, i]: f32[B, N] = sum(j in 0..M) { weight[b, i, j] };
    output[b, i, e] = (sum(j in 0..M) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i]) as f16;
}";

/// Flash attention in other shapes: results of halves, queries in fragments, four subgroups or one, blocks of few matrices and of more.
#[test]
fn attention_in_other_shapes() {
    for (rows, block, subgroups) in [(64, 16, "tile(i: 16) => subgroup(x);"), (16, 32, "")] {
        let rest = "tile(i: 8); distribute(i => lane(x)); serial(i_o);";
        let schedule = format!(
            "V: k for p where D == 16, E == 32, M % {block} == 0, N % {rows} == 0 {{
                decompose_online(largest, total, output => m_b, l_b, o_b, block: {block});
                tile(b: 1, i: {rows}) => workgroup(y, x);
                {subgroups}
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
                score {{ {subgroups} reorder(d, i, j); mma(i, j, d, SHAPE); unroll(d); }}
                m_b {{ split(j, [_, COLUMNS] => j_r, j); rfactor(j => m_p); {subgroups} {rest} }}
                l_b {{ split(j, [_, COLUMNS] => j_r, j); rfactor(j => l_p); {subgroups} {rest} }}
                m_p, l_p {{ {subgroups} reorder(j_r, i, j); fragment(i, j, SIDES); unroll(j_r); }}
                weight, rounded {{ {subgroups} fragment(i, j, SIDES); }}
                o_b {{ {subgroups} reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }}
                fragment(i, e, SIDES);
            }}"
        );
        let sizes: [&[(&str, i64)]; 2] =
            [&[("B", 1), ("N", 64), ("M", 32), ("D", 16), ("E", 32)], &[("B", 2), ("N", 128), ("M", 96), ("D", 16), ("E", 32)]];
        check(ATTENTION, &schedule, &sizes, &[0.25]);
    }
}

/// Cases that only the verifier refused before: stored matrices that are cut at an end, a copy of a factor that a loop indexes, and
/// fewer subgroups than another stage of the dispatch has.
#[test]
fn refused_by_the_directives() {
    let squares = "fn k<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * x[i, j]; }";
    let cut = "V: k for p where N % 16 == 0 { tile(i: 16, j: 16) => workgroup(y, x); fragment(i, j, 16 x 16); }";
    refused(squares, cut, "`i` ends at M, which may be within a matrix that is stored");
    let indexed = "V: k for p where M % 16 == 0, N % 16 == 0, K == 32 {
        tile(i: 16, j: 16) => workgroup(y, x);
        reorder(k, i, j);
        promote(a => a_f, at: workgroup, to: fragment);
        mma(i, j, k, 16 x 16 x 16);
    }";
    refused(PRODUCT, indexed, "would be indexed by `k");
    let kernel = "fn k<K>(a: f16[K, K], b: f16[K, K]) -> y: f16[K, K] {
        let s[i, j]: f16[K, K] = sum(k in 0..K) { a[k, i] * b[j, k] };
        y[i, j] = s[i, j];
    }";
    let fewer = "V: k for p where K % 32 == 0 {
        tile(i: 32, j: 16) => workgroup(y, x);
        compute_at(s, workgroup, to: shared);
        fragment(i, j, 16 x 16);
        s { tile(i: 16) => subgroup(x); mma(i, j, k, 16 x 16 x 16); }
    }";
    refused(kernel, fewer, "not all subgroups of the workgroup would compute matrices of `y`");
    let others = "V: k for p where K % 32 == 0 {
        tile(i: 32, j: 16) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
        compute_at(s, workgroup, to: fragment);
        fragment(i, j, 16 x 16);
        s { mma(i, j, k, 16 x 16 x 16); }
    }";
    refused(kernel, others, "`y` reads elements of `s` that belong to other subgroups along `i`");
}
