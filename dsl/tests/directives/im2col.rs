//! Tests the stages that `decompose_im2col` makes of a convolution, and its refusals. Read the snapshots in review.

use crate::decompositions::{compiled, refusals, stages};
use tilewright_dsl::nest::print;

/// A convolution with stride 2, dilation 2, padding and an epilogue.
const NHWC: &str =
    "fn conv<N, H, W, IC, OC>(x: f32[N, H * 2, W * 2, IC], w: f32[3, 3, IC, OC], b: f32[OC]) -> y: f32[N, H, W, OC] {
    y[n, oh, ow, oc] = (sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
        x.pad(0.0)[n, oh * 2 + fh * 2 - 2, ow * 2 + fw * 2 - 2, ic] * w[fh, fw, ic, oc]
    } + b[oc]).max(0.0);
}";

/// The stages of a planned schedule.
#[test]
fn stages_of_a_convolution() {
    insta::assert_snapshot!(stages(NHWC, "{ decompose_im2col(y => cols, gemm); }"));
}

/// The filter comes first, with groups and f16 summed as f32. The columns keep the type of the tensor that they read.
#[test]
fn stages_of_another_layout() {
    let kernel = "fn conv<N, G, C, H, W, K>(x: f16[N, G, C, H + 2, W + 2], w: f16[G, K, C, 3, 3]) -> y: f32[N, G, K, H, W] {
        y[n, g, k, i, j] = sum(c in 0..C, r in 0..3, s in 0..3) { w[g, k, c, r, s] as f32 * x[n, g, c, i + r, j + s] as f32 };
    }";
    let schedule = "{
        decompose_im2col(y => cols, gemm);
        pack(cols[n, g, i, j, c, r, s] => [n, g, c, r, s, i, j]);
    }";
    insta::assert_snapshot!(stages(kernel, schedule));
}

/// The columns in shared memory: an implicit matrix product.
#[test]
fn columns_in_shared_memory() {
    let schedule = "{
        decompose_im2col(y => cols, gemm);
        tile(n: 1, oh: 1, ow: 8, oc: 16) => workgroup(z, z, y, x);
        tile(ic: 4 => ic_o);
        reorder(fh, fw, ic_o, ic, ow, oc);
        compute_at(cols, ic_o, to: shared);
        distribute(ow, oc => thread(y, x));
    }";
    insta::assert_snapshot!(stages(NHWC, schedule));
}

/// The reads of a decomposed intermediate read the new stage everywhere.
#[test]
fn an_intermediate() {
    let kernel = "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
        let s[i]: f32[N] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
        y[i] = s[i].exp() + s.clamp()[i + 1];
    }";
    insta::assert_snapshot!(stages(
        kernel,
        "{ decompose_im2col(s => cols, gemm); gemm { tile(i: 32) => workgroup(x); distribute(i => thread(x)); } }"
    ));
}

/// Tests which of two factors becomes columns. `cols` has the axes of that factor.
#[test]
fn which_factor() {
    let of = |kernel: &str, axes: &str, text: &str| {
        let error = compiled(kernel, "{ decompose_im2col(y => cols, gemm); cols { serial(none); } }").expect_err("no such axis");
        assert!(error.contains(&format!("the axes are {axes}")), "{error}");
        let program = compiled(kernel, "{ decompose_im2col(y => cols, gemm); }").unwrap_or_else(|errors| panic!("{errors}"));
        let plan = print::plan(&program);
        assert!(plan.contains(text), "{plan}");
    };
    // The factor with a sliding window, in any order, although the other factor has more axes.
    let fir = "fn k<N, C, K, L>(x: f32[N * 2 + 1, C], w: f32[3, C, K, L]) -> y: f32[N, K, L] {
        y[i, k, l] = sum(t in 0..3, c in 0..C) { w[t, c, k, l] * x[i * 2 + t, c] };
    }";
    of(fir, "`i`, `t` and `c`", "x[cols.i * 2 + cols.t, cols.c]");
    // Windows do not need to overlap.
    let patches = "fn k<N, C, K>(x: f32[N * 4, C], w: f32[4, C, K]) -> y: f32[N, K] {
        y[i, k] = sum(t in 0..4, c in 0..C) { w[t, c, k] * x[i * 4 + t, c] };
    }";
    of(patches, "`i`, `t` and `c`", "x[cols.i * 4 + cols.t, cols.c]");
    // Groups of adjacent channels are not windows of the filter.
    let flat = "fn k<G, N>(x: f32[N + 2, G * 4], w: f32[3, G * 4]) -> y: f32[N, G] {
        y[i, g] = sum(t in 0..3, c in 0..4) { w[t, g * 4 + c] * x[i + t, g * 4 + c] };
    }";
    of(flat, "`i`, `g`, `t` and `c`", "x[cols.i + cols.t, cols.g * 4 + cols.c]");
    // Without windows, the factor with the most axes of the result.
    let pixels = "fn k<H, W, C, K>(x: f32[H, W, C], w: f32[C, K]) -> y: f32[H, W, K] {
        y[i, j, k] = sum(c in 0..C) { w[c, k] * x[i, j, c] };
    }";
    of(pixels, "`i`, `j` and `c`", "x[cols.i, cols.j, cols.c]");
    // If both factors are equal in that, the first one.
    let product = "fn k<M, N, C>(a: f32[M, C], b: f32[C, N]) -> y: f32[M, N] { y[i, j] = sum(c in 0..C) { b[c, j] * a[i, c] }; }";
    // The planner copies it through shared memory, because the columns are its transpose.
    of(product, "`j` and `c`", "= b.clamp()[c_workgroup * 32 + cols_b_s.c, cols.j_workgroup * 32 + cols_b_s.j]");
}

/// A window of 3 taps with stride 2. Most refusals are small changes of it.
const FIR: &str = "fn k<N, C>(x: f32[N * 2 + 1, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i * 2 + t, c] * w[t, c] }; }";
/// A correct schedule of `FIR`.
const RIGHT: &str = "{ decompose_im2col(y => cols, gemm); }";

/// Refused programs: a title, the kernel, and the schedule from its conditions on.
const REFUSED: &[(&str, &str, &str)] = &[
    // The algorithm.
    ("no reduction", "fn k<N, C>(x: f32[N, C], w: f32[C]) -> y: f32[N, C] { y[i, c] = x[i, c] * w[c]; }", RIGHT),
    (
        "a maximum",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] { y[i] = max(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "an argument of a maximum",
        "fn k<N>(x: f32[N + 2], w: f32[3]) -> y: i32[N] { y[i] = argmax(t in 0..3) { x[i + t] * w[t] }; }",
        RIGHT,
    ),
    (
        "a sum of sums",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] + w[t, c] }; }",
        RIGHT,
    ),
    (
        "a sum of one factor",
        "fn k<N, C>(x: f32[N + 2, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] }; }",
        RIGHT,
    ),
    (
        "two factors that slide",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[N + 2, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[i + t, c] }; }",
        RIGHT,
    ),
    (
        "factors that name axes of the result, or of the sum",
        "fn k<N, M, C>(a: f32[N, M], b: f32[C]) -> y: f32[N, M] { y[i, j] = sum(c in 0..C) { a[i, j] * b[c] }; }",
        RIGHT,
    ),
    (
        "no tensor that is read",
        "fn k<N>(a: f32[N]) -> y: f32[N] { y[i] = a[i] + sum(c in 0..4) { ((i + c) as f32) * (c as f32) }; }",
        RIGHT,
    ),
    (
        "an index that depends on data",
        "fn k<M, N, C>(ids: i32[N], x: f32[M, C], w: f32[3, C]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C) { x.pad(0.0)[ids[i] + t, c] * w[t, c] };
        }",
        RIGHT,
    ),
    (
        "a tap that depends on data",
        "fn k<N, C>(ids: i32[3], x: f32[N, C], w: f32[3, C]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C) { x.clamp()[i + ids[t], c] * w[t, c] };
        }",
        RIGHT,
    ),
    (
        "a range that depends on another axis",
        "fn k<N>(x: f32[N + 2, N], w: f32[3, N]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..i) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "a range that depends on another axis of the sum",
        "fn k<N, C>(x: f32[N + 4, C], w: f32[3, 3, C]) -> y: f32[N] {
            y[i] = sum(c in 0..C, t in 0..3, u in t..3) { x[i + t + u, c] * w[t, u, c] };
        }",
        RIGHT,
    ),
    // Names.
    ("the name of an input", FIR, "{ decompose_im2col(y => x, gemm); }"),
    ("the name of the convolution", FIR, "{ decompose_im2col(y => cols, y); }"),
    ("the name of a size", FIR, "{ decompose_im2col(y => C, gemm); }"),
    (
        "the name of another stage",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            let s[i, c]: f32[N + 2, C] = x[i, c].exp();
            y[i] = sum(t in 0..3, c in 0..C) { s[i + t, c] * w[t, c] };
        }",
        "{ decompose_im2col(y => s, gemm); }",
    ),
    (
        "the name of a scalar",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C], a: f32) -> y: f32[N] {
            y[i] = a * sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
        }",
        "{ decompose_im2col(y => cols, a); }",
    ),
    ("one name twice", FIR, "{ decompose_im2col(y => cols, cols); }"),
    ("a stage that there is not", FIR, "{ decompose_im2col(z => cols, gemm); }"),
    (
        "a stage that is misspelt",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            let conv[i]: f32[N] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
            y[i] = conv[i].exp();
        }",
        "{ decompose_im2col(cnov => cols, gemm); }",
    ),
    ("an input in place of a stage", FIR, "{ decompose_im2col(x => cols, gemm); }"),
    // Syntax.
    ("no arrow", FIR, "{ decompose_im2col(y, cols, gemm); }"),
    ("one name", FIR, "{ decompose_im2col(y => cols); }"),
    ("three names", FIR, "{ decompose_im2col(y => cols, filter, gemm); }"),
    ("a key", FIR, "{ decompose_im2col(y => cols, gemm, tolerance: 1e-5); }"),
    ("no comma between names", FIR, "{ decompose_im2col(y => cols gemm); }"),
    ("no comma after names", FIR, "{ decompose_im2col(y => cols, gemm m: 2); }"),
    ("a number in place of a name", FIR, "{ decompose_im2col(y => cols, 1); }"),
    ("a keyword in place of a name", FIR, "{ decompose_im2col(y => in, gemm); }"),
    ("nothing", FIR, "{ decompose_im2col(); }"),
    ("no parentheses", FIR, "{ decompose_im2col; }"),
    // Its position, and other directives on its stages.
    ("after a directive", FIR, "{ tile(i: 4) => workgroup(x); decompose_im2col(y => cols, gemm); }"),
    ("in a block", FIR, "{ y { decompose_im2col(y => cols, gemm); } }"),
    ("twice", FIR, "{ decompose_im2col(y => cols, gemm); decompose_im2col(y => a, b); }"),
    (
        "by Winograd's algorithm, too",
        "fn k<N>(x: f32[N + 2], w: f32[3]) -> y: f32[N] { y[i] = sum(t in 0..3) { x[i + t] * w[t] }; }",
        "{ decompose_im2col(y => cols, gemm); decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }",
    ),
    ("the columns again", FIR, "{ decompose_im2col(y => cols, gemm); decompose_im2col(cols => a, b); }"),
    ("columns inlined", FIR, "{ decompose_im2col(y => cols, gemm); inline(cols); }"),
    (
        "columns packed before they are there",
        FIR,
        "{ pack(cols[i, t, c] => [t, c, i]); decompose_im2col(y => cols, gemm); pack(col[i, t, c] => [t, c, i]); }",
    ),
    ("the product inlined", FIR, "{ decompose_im2col(y => cols, gemm); inline(gemm); }"),
    ("the product precomputed", FIR, "{ decompose_im2col(y => cols, gemm); precompute(gemm); }"),
    (
        "a block of the stage that is gone",
        FIR,
        "{ decompose_im2col(y => cols, gemm); y { tile(i: 4) => workgroup(x); serial(i); } }",
    ),
    ("columns at a loop of their own", FIR, "{ decompose_im2col(y => cols, gemm); cols { compute_at(cols, t, to: shared); } }"),
    (
        "columns that are computed where nothing reads them",
        FIR,
        "{ decompose_im2col(y => cols, gemm); tile(c: 4 => c_o); compute_at(cols, c_oo, to: shared); }",
    ),
];

/// Shows the whole messages: each must name the mistake and its place, and say what to write instead.
#[test]
fn what_is_refused() {
    insta::assert_snapshot!("refusals", refusals(REFUSED));
}
