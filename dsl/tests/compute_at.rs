//! Golden nests of `compute_at`: where stages stand, what they hold, and where barriers are.

mod steps;

use steps::lowered;

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
