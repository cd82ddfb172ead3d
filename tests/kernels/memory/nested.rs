//! Shared copies within stages that each invocation computes for itself, and nests with fewer invocations than their inner stages.

use crate::harness::{check, nest, of_subgroups, refused, variant};

const GLU: &str = "fn glu<M, N, K>(x: f32[M, K], w: f32[K, N], v: f32[K, N], b: f32[N]) -> y: f32[M, N] {
    let a[i, j]: f32[M, N] = sum(k in 0..K) { x[i, k] * w[k, j] };
    let g[i, j]: f32[M, N] = sum(k in 0..K) { x[i, k] * v[k, j] };
    y[i, j] = (a[i, j] + b[j]) * g[i, j];
}";

const SIZES: [&[(&str, i64)]; 5] = [
    &[("M", 1), ("N", 1), ("K", 1)],
    &[("M", 17), ("N", 37), ("K", 9)],
    &[("M", 16), ("N", 32), ("K", 8)],
    &[("M", 3), ("N", 4), ("K", 0)],
    &[("M", 0), ("N", 4), ("K", 4)],
];

/// Two products in one result have accumulators in registers, and separate tiles in shared memory.
#[test]
fn shared_tiles_of_products_in_registers() {
    let host = "tile(i: 16, j: 32) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); unroll(i, j);
        compute_at(a, thread, to: register); compute_at(g, thread, to: register);";
    for products in [
        "a, g { tile(k: 8 => k_o); reorder(k_o, k, i, j); unroll(i, j); promote(x => x_s, at: k_o, to: shared, row_pad: 1); }
         a { promote(w => w_s, at: k_o, to: shared); } g { promote(v => v_s, at: k_o, to: shared); }",
        "a, g { tile(k: 8 round_up => k_o); reorder(k_o, k, i, j); unroll(i, j); promote(x => x_s, at: k_o, to: shared, fill: 0.0); }
         a { promote(w => w_s, at: k_o, to: shared, fill: 0.0); promote(w_s => w_r, at: k, to: register); }
         g { promote(v => v_s, at: k_o, to: shared, fill: 0.0); promote(v_s => v_r, at: k_o, to: register); unroll(k); }",
        "a, g { tile(k: 8 peel => k_o); reorder(k_o, k, i, j); unroll(i, j); promote(x => x_s, at: k_o, to: shared); }
         x_s { tile(i: 8 => i_2, k: 4 => k_2); distribute(i, k => thread(y, x)); serial(i_2, k_2); }",
    ] {
        check(GLU, &format!("V: glu for p {{ {host} {products} }}"), &SIZES);
    }
    let vectors = "V: glu for p where N % 4 == 0 { tile(i: 16 peel, j: 32 peel) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); unroll(i);
        vectorize(j, 4); compute_at(a, thread, to: register); compute_at(g, thread, to: register);
        a, g { tile(k: 8 => k_o); reorder(k_o, k, i, j); unroll(i); vectorize(j, 4); promote(x => x_s, at: k_o, to: shared); }
        a { promote(w => w_s, at: k_o, to: shared, vector: 4); } g { promote(v => v_s, at: k_o, to: shared, vector: 4); } }";
    assert!(nest(GLU, vectors).contains("shared w_s: f32[8, 32]"), "{}", nest(GLU, vectors));
    check(GLU, vectors, &[&[("M", 17), ("N", 36), ("K", 12)], &[("M", 16), ("N", 32), ("K", 8)], &[("M", 2), ("N", 4), ("K", 0)]]);
}

/// Loops of the host around the products, where each iteration refills the tiles: also if an inner loop, with the only barrier,
/// runs no iteration.
#[test]
fn shared_tiles_in_loops_of_the_host() {
    let host = "tile(i: 16, j: 32) => workgroup(y, x); tile(i: 2, j: 4) => thread(y, x); serial(i); unroll(j); compute_at(a, i, to: register);";
    let a = "tile(k: 8 => k_o); reorder(k_o, k, j); unroll(j); promote(x => x_s, at: k_o, to: shared);";
    check(GLU, &format!("V: glu for p {{ {host} a {{ {a} }} }}"), &SIZES);
    let all = format!("{a} promote(w => w_s, at: workgroup, to: shared, row_pad: 1);");
    check(GLU, &format!("V: glu for p where K <= 16 {{ {host} a {{ {all} }} }}"), &SIZES);
}

/// A copy within the nest of a stage that uses fewer invocations than the copy: all invocations must reach the copy.
#[test]
fn more_invocations_copy_than_compute() {
    let host = "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(a, thread, to: register);";
    for copy in
        ["x_s { distribute(i, k => thread(y, x)); }", "x_s { tile(k: 2) => thread(y); distribute(i => thread(x)); serial(k); }"]
    {
        let schedule =
            format!("V: glu for p {{ {host} a {{ tile(k: 4 => k_o); promote(x => x_s, at: k_o, to: shared); }} {copy} }}");
        check(GLU, &schedule, &SIZES);
    }
    // Only the copy's own axes determine which invocation copies.
    let some = "a { tile(k: 4 => k_o); promote(x => x_s, at: k_o, to: shared); } x_s { distribute(i, k => thread(y, z)); }";
    refused(GLU, &format!("V: glu for p {{ {host} {some} }}"), "8 invocations in `x` would all copy the same part of `x_s`");
    let wide = "a { tile(k: 16 => k_o); promote(x => x_s, at: k_o, to: shared); } x_s { distribute(i, k => thread(y, x)); }";
    check(GLU, &format!("V: glu for p {{ {host} {wide} }}"), &SIZES);
    // Four of the eight lanes of a subgroup have rows.
    let lanes = "V: glu for p { tile(i: 16, j: 32) => workgroup(y, x); tile(i: 4, j: 8) => subgroup(y, x); distribute(i => lane(x)); unroll(j);
        compute_at(a, subgroup, to: register); compute_at(g, subgroup, to: register);
        a, g { tile(k: 8 => k_o); reorder(k_o, k, j); unroll(j); promote(x => x_s, at: k_o, to: shared); } }";
    let made = variant(GLU, lanes, &of_subgroups(8));
    SIZES.iter().for_each(|dims| made.check(dims, &[]));
}

/// A list names axes of the stage, not axes of the surrounding nest.
#[test]
fn a_list_within_a_stage_in_registers() {
    let schedule =
        "V: glu for p { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); compute_at(a, thread, to: register);
        a { tile(k: 4 => k_o); promote(x => x_s[k, i], at: k_o, to: shared); } }";
    refused(GLU, schedule, "without a list, the copy has the tensor's dimensions and the whole range that is read");
}

/// Along a coordinate that a nest does not use, only the first invocation runs it.
#[test]
fn a_nest_of_fewer_invocations() {
    let cell = "fn cell<B, I, H>(x: f32[B, I], h: f32[B, H], w: f32[H, I], u: f32[H, H]) -> y: f32[B, H] {
        let wx[b, o]: f32[B, H] = sum(k in 0..I) { w[o, k] * x[b, k] };
        let uh[b, o]: f32[B, H] = sum(k in 0..H) { u[o, k] * h[b, k] };
        y[b, o] = (wx[b, o] + uh[b, o]).max(0.0);
    }";
    let sizes: [&[(&str, i64)]; 4] = [
        &[("B", 1), ("I", 1), ("H", 1)],
        &[("B", 5), ("I", 17), ("H", 19)],
        &[("B", 2), ("I", 0), ("H", 33)],
        &[("B", 0), ("I", 2), ("H", 3)],
    ];
    for schedule in [
        "tile(b: 1, o: 1) => workgroup(y, x); compute_at(wx, workgroup, to: register); compute_at(uh, workgroup, to: shared);
         wx, uh { tile(k: 32 => k_o); distribute(k => thread(x), by: tree); }",
        "tile(b: 4, o: 1) => workgroup(y, x); distribute(b => thread(y)); compute_at(wx, workgroup, to: shared); compute_at(uh, workgroup, to: shared);
         wx, uh { distribute(b => thread(y)); tile(k: 16 => k_o); distribute(k => thread(x), by: tree); }",
        "tile(b: 4, o: 4) => workgroup(y, x); serial(b, o); compute_at(wx, workgroup, to: shared);
         wx { distribute(b, o => thread(z, y)); tile(k: 4 => k_o); distribute(k => thread(x), by: tree); }",
        "tile(b: 4, o: 2) => workgroup(y, x); serial(b); unroll(o); compute_at(wx, b, to: register);
         wx { unroll(o); tile(k: 8 => k_o); reorder(k_o, k, o); promote(w => w_s, at: k_o, to: shared); } w_s { distribute(o, k => thread(y, x)); }",
    ] {
        check(cell, &format!("V: cell for p {{ {schedule} }}"), &sizes);
    }
    let lanes = "V: cell for p { tile(b: 1, o: 1) => workgroup(y, x); compute_at(wx, workgroup, to: register); compute_at(uh, workgroup, to: register);
        wx, uh { tile(k: 8 => k_o); distribute(k => lane(x), by: subgroup); } }";
    let made = variant(cell, lanes, &of_subgroups(8));
    sizes.iter().for_each(|dims| made.check(dims, &[]));
    // A result that is updated in place is updated once.
    let update =
        "fn scale<R, C>(x: &mut f32[R], z: f32[R, C]) { let s[i]: f32[R] = sum(k in 0..C) { z[i, k] }; x[i] = x[i] * 2.0 + s[i]; }";
    let schedule = "V: scale for p { tile(i: 1) => workgroup(x); compute_at(s, workgroup, to: register); s { tile(k: 16 => k_o); distribute(k => thread(x), by: tree); } }";
    check(update, schedule, &[&[("R", 1), ("C", 1)], &[("R", 7), ("C", 33)], &[("R", 3), ("C", 0)]]);
}

/// A part of an axis with one value does not have a loop, but is still a place: for example, in versions for sizes of one tile.
#[test]
fn places_of_one_value() {
    let product = "fn mm<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
    let sizes: [&[(&str, i64)]; 5] = [
        &[("M", 9), ("N", 17), ("K", 8)],
        &[("M", 8), ("N", 8), ("K", 3)],
        &[("M", 1), ("N", 5), ("K", 1)],
        &[("M", 5), ("N", 1), ("K", 19)],
        &[("M", 8), ("N", 8), ("K", 8)],
    ];
    for tiles in [
        "tile(k: 8 => k_o); reorder(k_o, k, i, j); promote(a => a_s, at: k_o, to: shared); promote(b => b_s, at: k_o, to: shared);
         distribute(i, j => thread(y, x));",
        "distribute(i, j => thread(y, x)); tile(k: 8 => k_o); promote(a => a_s, at: k_o, to: shared); promote(b => b_s[k, j], at: k_o, to: shared);
         promote(a_s => a_r, at: k_o, to: register); unroll(k);",
        "split(k, [_, 4, 2] => k_o, k_i, k); distribute(i => thread(x)); reorder(k_o, k_i, j, k); unroll(j);
         promote(a => a_s, at: k_o, to: shared); promote(b => b_s, at: k_i, to: shared);",
    ] {
        // None of three parts may be longer than the axis.
        let facts = if tiles.contains("split") { "specialize(K == 8, M == 8, N == 8); specialize(K == 8);" } else {
            "specialize(K == 8, M == 8, N == 8); specialize(K == 8); specialize(K == 3); specialize(K == 1);" };
        let schedule = format!("V: mm for p {{ tile(i: 8, j: 8) => workgroup(y, x); {tiles} {facts} }}");
        check(product, &schedule, &sizes);
    }
    let chain = "fn two<N, M>(x: f32[N, M]) -> y: f32[N] {
        let s[i, k]: f32[N, M] = x[i, k].exp();
        y[i] = sum(k in 0..M) { s[i, k] * s[i, k] };
    }";
    let schedule =
        "V: two for p { tile(i: 8) => workgroup(x); distribute(i => thread(x)); tile(k: 4 => k_o); compute_at(s, k_o, to: shared);
        specialize(M == 4); specialize(M == 2); specialize(M == 1, N == 1); }";
    check(chain, schedule, &[&[("N", 9), ("M", 4)], &[("N", 3), ("M", 2)], &[("N", 1), ("M", 1)], &[("N", 9), ("M", 9)]]);
}
