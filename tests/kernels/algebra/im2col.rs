//! Convolutions as explicit columns and a matrix product, compared with the evaluation of the direct sum: the same values, in all
//! layouts and sizes.

use crate::harness::{check, profiles, refused, variant};

/// Any stride and dilation, padded, with an epilogue.
const NHWC: &str = "fn conv<S = 1, D = 1, N, IH, IW, IC, OC, OH = (IH + S - 1) / S, OW = (IW + S - 1) / S>(
    x: f32[N, IH, IW, IC], w: f32[3, 3, IC, OC], b: f32[OC],
) -> y: f32[N, OH, OW, OC] {
    y[n, oh, ow, oc] = (sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
        x.pad(0.0)[n, oh * S + fh * D - D, ow * S + fw * D - D, ic] * w[fh, fw, ic, oc]
    } + b[oc]).max(0.0);
}";

/// Odd sizes, one channel, one pixel, and empty tensors.
const SIZES: [[(&str, i64); 5]; 6] = [
    [("N", 1), ("IH", 12), ("IW", 12), ("IC", 8), ("OC", 4)],
    [("N", 2), ("IH", 7), ("IW", 5), ("IC", 3), ("OC", 5)],
    [("N", 1), ("IH", 1), ("IW", 3), ("IC", 1), ("OC", 1)],
    [("N", 1), ("IH", 2), ("IW", 13), ("IC", 5), ("OC", 17)],
    [("N", 0), ("IH", 4), ("IW", 4), ("IC", 2), ("OC", 2)],
    [("N", 1), ("IH", 4), ("IW", 4), ("IC", 0), ("OC", 2)],
];

fn at_all_sizes(schedule: &str) {
    check(NHWC, schedule, &SIZES.each_ref().map(|s| &s[..]));
}

/// The epilogue does not need a separate dispatch.
#[test]
fn every_stride_and_dilation() {
    for (stride, dilation) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 3)] {
        at_all_sizes(&format!("V: conv<S = {stride}, D = {dilation}> for p {{ decompose_im2col(y => cols, gemm); }}"));
    }
    let names = |schedule: &str| {
        let program = variant(NHWC, schedule, &profiles()[0]).program;
        program.dispatches.iter().map(|d| d.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names("V: conv for p { decompose_im2col(y => cols, gemm); }"), ["cols", "gemm"]);
}

/// The stages are scheduled like any others: pixels are one axis of the product, and the summed elements are another.
#[test]
fn scheduled() {
    let schedule = "V: conv<S = 2> for p where finite(x), finite(w) {
        decompose_im2col(y => cols, gemm);
        cols { fuse(fh, fw, ic => k); fuse(n, oh, ow => p); tile(p: 2, k: 32) => workgroup(y, x); distribute(p, k => thread(y, x)); }
        fuse(n, oh, ow => p);
        fuse(fh, fw, ic => k);
        tile(p: 16, oc: 16) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, p, oc);
        promote(cols => c_s[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 1);
        promote(w => w_s[k, oc], at: k_o, to: shared, fill: 0.0);
        tile(p: 2, oc: 4) => thread(y, x);
        unroll(k, p, oc);
    }";
    at_all_sizes(schedule);
    // The sum in two dispatches, in blocks of channels.
    let partial = "V: conv<S = 2> for p {
        decompose_im2col(y => cols, gemm);
        tile(ic: 4 => ic_o);
        rfactor(ic_o => part);
    }";
    at_all_sizes(partial);
}

/// The columns of a tile in shared memory, computed where they are multiplied: one dispatch, without columns in device memory.
#[test]
fn in_shared_memory() {
    for (stride, dilation) in [(1, 1), (2, 1), (2, 2)] {
        let schedule = format!(
            "V: conv<S = {stride}, D = {dilation}> for p {{
                decompose_im2col(y => cols, gemm);
                tile(n: 1, oh: 2, ow: 8, oc: 16) => workgroup(z, z, y, x);
                tile(ic: 4 => ic_o);
                reorder(fh, ic_o, fw, ic, oh, ow, oc);
                compute_at(cols, ic_o, to: shared, row_pad: 1);
                promote(w => w_s[fw, ic, oc], at: ic_o, to: shared);
                distribute(ow, oc => thread(y, x));
                unroll(oh);
                cols {{ fuse(oh, ow => p); fuse(fw, ic => k); distribute(p => thread(linear)); serial(k); }}
            }}"
        );
        at_all_sizes(&schedule);
        let program = variant(NHWC, &schedule, &profiles()[0]).program;
        assert_eq!(program.dispatches.iter().map(|d| &d.name).collect::<Vec<_>>(), ["gemm"]);
        assert_eq!(program.tensors.iter().map(|t| &t.name).collect::<Vec<_>>(), ["x", "w", "b", "y"]);
    }
}

/// The alternatives on the directive's page: columns of a tile in shared memory, and of fused axes, without the directive.
#[test]
fn as_on_the_page() {
    let page = include_str!("../../../docs/directives/decompose_im2col.md");
    let schedules: Vec<&str> = page.split("```rust,ignore").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert_eq!(schedules.len(), 2);
    for directives in schedules {
        at_all_sizes(&format!("V: conv<S = 2> for p {{ {directives} }}"));
    }
}

/// `pack` gives the columns another layout, also with block sizes that do not divide them.
#[test]
fn packed() {
    for map in ["[n, fh, fw, ic, oh, ow]", "[n, oh, ow, ic / 4, fh, fw, ic % 4]", "[fh, fw, ic, n, oh, ow / 8, ow % 8]"] {
        at_all_sizes(&format!(
            "V: conv<S = 2> for p {{ decompose_im2col(y => cols, gemm); pack(cols[n, oh, ow, fh, fw, ic] => {map}); }}"
        ));
    }
}

/// A packed result is computed by the product, which keeps its block.
#[test]
fn a_packed_result() {
    for when in ["dispatch", "caller"] {
        at_all_sizes(&format!(
            "V: conv for p {{
                decompose_im2col(y => cols, gemm);
                pack(y[n, oh, ow, oc] => [n, oc / 4, oh, ow, oc % 4], when: {when});
                gemm {{ tile(oh: 2, ow: 4) => workgroup(y, x); serial(n, oc_o); distribute(oh, ow => thread(y, x)); unroll(oc); }}
            }}"
        ));
    }
}

/// Other layouts, groups, windows in zero and in three dimensions, with stages before and after.
#[test]
fn every_convolution() {
    let of = |kernel: &str, sizes: &[&[(&str, i64)]]| check(kernel, "V: k for p { decompose_im2col(y => cols, gemm); }", sizes);
    let nchw = "fn k<N, C, H, W, K>(x: f32[N, C, H * 2 + 1, W + 4], w: f32[K, C, 3, 3], b: f32[K]) -> y: f32[N, K, H, W] {
        y[n, k, i, j] = (sum(c in 0..C, r in 0..3, s in 0..3) { w[k, c, r, s] * x[n, c, i * 2 + r, j + s * 2] } + b[k]).max(0.0);
    }";
    of(nchw, &[&[("N", 2), ("C", 3), ("H", 5), ("W", 9), ("K", 2)], &[("N", 1), ("C", 1), ("H", 4), ("W", 1), ("K", 3)]]);
    let grouped = "fn k<G, C, H, W, K>(x: f32[H + 2, W + 2, G, C], w: f32[3, 3, G, C, K]) -> y: f32[H, W, G, K] {
        y[i, j, g, k] = sum(r in 0..3, s in 0..3, c in 0..C) { x[i + r, j + s, g, c] * w[r, s, g, c, k] };
    }";
    of(grouped, &[&[("G", 2), ("C", 3), ("H", 5), ("W", 6), ("K", 2)]]);
    let flat = "fn k<N, G>(x: f32[N + 2, G * 4], w: f32[3, 4, G * 8]) -> y: f32[N, G * 8] {
        y[i, o] = sum(t in 0..3, c in 0..4) { x[i + t, o / 8 * 4 + c] * w[t, c, o] };
    }";
    of(flat, &[&[("N", 5), ("G", 3)]]);
    let depthwise = "fn k<C, H, W>(x: f32[H, W, C], w: f32[3, 3, C]) -> y: f32[H, W, C] {
        y[i, j, c] = sum(r in 0..3, s in 0..3) { x.pad(0.5)[i + r - 1, j + s - 1, c].max(0.25) * w[r, s, c] };
    }";
    of(depthwise, &[&[("C", 3), ("H", 5), ("W", 6)]]);
    let pixels = "fn k<N, H, W, C, K>(x: f32[N, H * 2, W * 2, C], w: f32[C, K]) -> y: f32[N, H, W, K] {
        y[n, i, j, k] = sum(c in 0..C) { x[n, i * 2, j * 2 + 1, c] * w[c, k] };
    }";
    of(pixels, &[&[("N", 2), ("H", 3), ("W", 5), ("C", 7), ("K", 4)]]);
    let cubes = "fn k<D, H, W, K>(x: f32[D + 1, H + 2, W * 2 + 3], w: f32[2, 3, 4, K]) -> y: f32[K, D, H, W] {
        y[k, d, i, j] = sum(q in 0..2, r in 0..3, s in 0..4) { x.clamp()[d + q, i + r, j * 2 + s] * w[q, r, s, k] };
    }";
    of(cubes, &[&[("D", 2), ("H", 3), ("W", 5), ("K", 3)]]);
    let patches = "fn k<H, W, C, K>(x: f32[H * 4, W * 4, C], w: f32[4, 4, C, K]) -> y: f32[H, W, K] {
        y[i, j, k] = sum(r in 0..4, s in 0..4, c in 0..C) { x[i * 4 + r, j * 4 + s, c] * w[r, s, c, k] };
    }";
    of(patches, &[&[("H", 3), ("W", 2), ("C", 3), ("K", 5)]]);
    let flipped = "fn k<N, T, C>(x: f32[N + T, C], w: f32[T, C]) -> y: f32[N] {
        y[i] = sum(t in 0..T, c in 0..C) { x[i + T - t, c] * w[t, c] };
    }";
    of(flipped, &[&[("N", 5), ("T", 4), ("C", 3)], &[("N", 3), ("T", 0), ("C", 1)]]);
    let causal = "fn k<C, N>(x: f32[N, C], w: f32[3, C]) -> y: f32[N] {
        y[i] = sum(t in 0..3, c in 0..C) { (if i >= t { x.clamp()[i - t, c] } else { 0.0 }) * w[t, c] };
    }";
    of(causal, &[&[("C", 3), ("N", 9)], &[("C", 1), ("N", 1)]]);
    let scaled = "fn k<C, N>(x: f32[N * 3, C], w: f32[4, C], b: f32[C], y: &mut f32[N]) {
        y[i] = sum(t in 0..4, c in 0..C) { b[c] * x.pad(1.0)[i * 3 + t - 1, c] * w[t, c] * 0.5 } + y[i] * 2.0;
    }";
    of(scaled, &[&[("C", 3), ("N", 9)], &[("C", 2), ("N", 1)]]);
}

/// Operands of f16 are stored as f16, even if they are summed in f32. Integers wrap.
#[test]
fn dtypes() {
    let halves = "fn k<C, N>(x: f16[N * 2 + 1, C], w: f16[3, C]) -> y: f16[N] {
        y[i] = (sum(c in 0..C, t in 0..3) { x[i * 2 + t, c] as f32 * w[t, c] as f32 }) as f16;
    }";
    let sizes: [&[(&str, i64)]; 2] = [&[("C", 3), ("N", 9)], &[("C", 8), ("N", 4)]];
    let schedule = "V: k for p { decompose_im2col(y => cols, gemm); }";
    check(halves, schedule, &sizes);
    let program = variant(halves, schedule, &profiles()[0]).program;
    let columns = program.tensors.iter().find(|t| t.name == "cols").expect("columns");
    assert_eq!(columns.dtype.to_string(), "f16");
    check(&halves.replace("as f32 ", "").replace("as f32", "").replace(" as f16", ""), schedule, &sizes);
    for dtype in ["i32", "u32"] {
        check(&halves.replace("as f32 ", "").replace("as f32", "").replace(" as f16", "").replace("f16", dtype), schedule, &sizes);
    }
    let narrowed = halves.replace("x: f16", "x: f32").replace("c] as f32 * ", "c] as f16 as f32 * ");
    check(&narrowed, schedule, &sizes);
    let signs = halves.replace("x[i * 2 + t, c] as f32", "(if x[i * 2 + t, c] > 0.5 { 1.0 } else { -1.0 })");
    check(&signs, schedule, &sizes);
}

/// Convolutions of an intermediate that others read at other points, two consecutive convolutions, and convolutions of another
/// decomposition's stage.
#[test]
fn two_of_a_kernel() {
    let kernel = "fn k<C, H, W>(x: f32[H * 2, W * 2, C], w: f32[3, 3, C, C], z: f32[3, 3, C, C]) -> y: f32[H, W, C] {
        let s[i, j, k]: f32[H, W, C] = sum(r in 0..3, q in 0..3, c in 0..C) { x.pad(0.0)[i * 2 + r - 1, j * 2 + q - 1, c] * w[r, q, c, k] };
        y[i, j, k] = sum(r in 0..3, q in 0..3, c in 0..C) { s.pad(0.0)[i + r - 1, j + q - 1, c] * z[r, q, c, k] };
    }";
    let sizes: [&[(&str, i64)]; 2] = [&[("C", 3), ("H", 5), ("W", 6)], &[("C", 1), ("H", 1), ("W", 1)]];
    let both = "decompose_im2col(s => c1, g1); decompose_im2col(y => c2, g2); pack(g1[i, j, k] => [k, i, j]);";
    check(
        kernel,
        &format!("V: k for p {{ {both} g1 {{ tile(i: 4, j: 4) => workgroup(y, x); serial(k); serial(i, j); }} }}"),
        &sizes,
    );
    let winograd = "decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-4);";
    check(kernel, &format!("V: k for p where C <= 9 {{ decompose_im2col(s => cols, gemm); {winograd} }}"), &sizes);
    check(kernel, &format!("V: k for p where C <= 9 {{ {winograd} decompose_im2col(g => cols, gemm); precompute(u); }}"), &sizes);
}

#[test]
fn refusals() {
    let of = |kernel: &str, arguments: &str, why: &str| {
        refused(kernel, &format!("V: conv for p {{ decompose_im2col({arguments}); }}"), why)
    };
    of(NHWC, "y => cols, cols", "the name `cols` is already used");
    of(NHWC, "y => x, gemm", "the name `x` is already used");
    of(NHWC, "z => cols, gemm", "unknown stage `z`");
    of(&NHWC.replace("(sum(", "(max("), "y => cols, gemm", "`y` is a `max`, not a sum");
    of(&NHWC.replace("] * w", "] + w"), "y => cols, gemm", "a sum whose items are not products");
    // The pixels of a tile of the fused axes are not a box.
    let fused = "V: conv for p {
        decompose_im2col(y => cols, gemm);
        fuse(n, oh, ow => p);
        tile(p: 8, oc: 8) => workgroup(y, x);
        reorder(fh, fw, ic, p, oc);
        compute_at(cols, ic, to: shared);
        distribute(p, oc => thread(y, x));
    }";
    refused(NHWC, fused, "is not bounded");
}
