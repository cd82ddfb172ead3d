//! Golden nests of `compute_at`: the places of stages, the memory that they use, and the barriers.

use crate::steps::lowered;

const SOFTMAX: &str = "fn softmax<B, N>(x: f32[B, N]) -> y: f32[B, N] {
    let m[b]: f32[B] = max(j in 0..N) { x[b, j] };
    let e[b, j]: f32[B, N] = (x[b, j] - m[b]).exp();
    let s[b]: f32[B] = sum(j in 0..N) { e[b, j] };
    y[b, j] = e[b, j] / s[b];
}";
const POINTWISE: &str = "fn pointwise<P, C, O>(x: f32[P, C], w: f32[C, O], bias: f32[O]) -> y: f32[P, O] {
    let c[p, o]: f32[P, O] = sum(k in 0..C) { x[p, k] * w[k, o] };
    y[p, o] = (c[p, o] + bias[o]).max(0.0).min(6.0);
}";
const BLUR: &str = "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
    let r[i, j]: f32[H, W] = sum(b in 0..3) { x.clamp()[i, j + b - 1] } / 3.0;
    y[i, j] = sum(a in 0..3) { r.pad(0.25)[i + a - 1, j] } / 3.0;
}";
const SEPARABLE: &str =
    "fn separable<H, W, C, O, OH = H - 2, OW = W - 2>(x: f32[H, W, C], dw: f32[3, 3, C], pw: f32[C, O]) -> y: f32[OH, OW, O] {
    let d[h, w, c]: f32[OH, OW, C] = sum(a in 0..3, b in 0..3) { x[h + a, w + b, c] * dw[a, b, c] };
    y[h, w, o] = sum(c in 0..C) { d[h, w, c] * pw[c, o] };
}";

#[test]
fn rows_of_a_softmax() {
    insta::assert_snapshot!(lowered(
        SOFTMAX,
        "for vulkan_1_1",
        "tile(b: 1) => workgroup(y);
         tile(j: 64 => j_o);
         distribute(j => thread(x));
         serial(j_o);
         compute_at(m, workgroup, to: shared);
         compute_at(s, workgroup, to: shared);"
    ));
}

#[test]
fn an_epilogue_in_registers() {
    insta::assert_snapshot!(lowered(
        POINTWISE,
        "for vulkan_1_1",
        "tile(p: 8, o: 32) => workgroup(y, x);
         tile(p: 2, o: 4) => thread(y, x);
         unroll(p, o);
         compute_at(c, thread, to: register);
         c { reorder(k, p, o); unroll(p, o); }"
    ));
}

#[test]
fn a_halo() {
    insta::assert_snapshot!(lowered(
        BLUR,
        "for vulkan_1_1",
        "tile(i: 8, j: 16) => workgroup(y, x);
         distribute(i, j => thread(y, x));
         compute_at(r, workgroup, to: shared, row_pad: 1);"
    ));
}

#[test]
fn at_a_loop_of_a_reduction() {
    insta::assert_snapshot!(lowered(
        SEPARABLE,
        "for vulkan_1_1",
        "tile(h: 2, w: 4, o: 8) => workgroup(z, y, x);
         fuse(h, w, o => t);
         distribute(t => thread(x));
         tile(c: 4 => c_o);
         compute_at(d, c_o, to: shared);
         d { fuse(h, w, c => item); distribute(item => thread(x)); unroll(a, b); }"
    ));
}

const MATMUL: &str = "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

/// Partial sums of 16 products each. The last one has fewer.
#[test]
fn a_sum_in_blocks() {
    insta::assert_snapshot!(lowered(
        MATMUL,
        "for vulkan_1_1",
        "tile(k: 16 => k_o);
         rfactor(k_o => part);
         tile(i: 8, j: 8) => workgroup(y, x);
         tile(i: 2, j: 4) => thread(y, x);
         reorder(k_o, i, j);
         unroll(i, j);
         compute_at(part, k_o, to: register);
         promote(b => b_s, at: k_o, to: shared);
         part { reorder(k, i, j); unroll(i, j); }"
    ));
}

#[test]
fn refused_partial_results() {
    let refused = [
        "compute_at(part, workgroup, to: register); tile(k: 16 => k_o); rfactor(k_o => part); distribute(i => workgroup(x)); serial(j);",
        "tile(k: 16 => k_o); rfactor(k_o => part); root(part);",
        "tile(k: 16 => k_o); rfactor(k_o => part); compute_at(part, i, to: register); serial(i, j);",
    ];
    let mut all: Vec<String> =
        refused.iter().map(|directives| format!("## {directives}\n{}", lowered(MATMUL, "for vulkan_1_1", directives))).collect();
    let update = "fn scan<N>(x: &mut f32[N]) { x[i] = sum(k in 0..3) { x[i] }; }";
    let directives = "rfactor(k => part); compute_at(part, k, to: register); distribute(i => workgroup(x));";
    all.push(format!("## {update}\n{}", lowered(update, "for vulkan_1_1", directives)));
    insta::assert_snapshot!(all.join("\n"));
}
