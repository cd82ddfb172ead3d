//! Tests the stages that `decompose_winograd` makes of a convolution, and its refusals. Read the snapshots in review.

use crate::decompositions::{compiled, refusals, stages};

const NHWC: &str = "fn conv<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[3, 3, IC, OC]) -> y: f32[N, H, W, OC] {
    y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) { x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] * w[fh, fw, ic, oc] };
}";

#[test]
fn stages_of_a_convolution() {
    let schedule = "where IC <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }";
    insta::assert_snapshot!(stages(NHWC, schedule));
}

/// A window of 3 taps in one dimension. Most refusals are small changes of it.
const FIR: &str =
    "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }";
/// A correct schedule of `FIR`.
const RIGHT: &str = "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }";

/// A correct schedule of a convolution with one channel.
const RIGHT_OF_ONE: &str = "{ decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }";

/// Refused programs: a title, the kernel, and the schedule from its conditions on.
const REFUSED: &[(&str, &str, &str)] = &[
    // The algorithm.
    (
        "stride 2 in the first dimension",
        "fn k<H, W>(x: f32[H * 2 + 1, W + 2], w: f32[3, 3]) -> y: f32[H, W] {
            y[i, j] = sum(r in 0..3, s in 0..3) { x[i * 2 + r, j + s] * w[r, s] };
        }",
        RIGHT_OF_ONE,
    ),
    (
        "stride 2 in the second dimension",
        "fn k<H, W>(x: f32[H + 2, W * 2 + 1], w: f32[3, 3]) -> y: f32[H, W] {
            y[i, j] = sum(r in 0..3, s in 0..3) { x[i + r, j * 2 + s] * w[r, s] };
        }",
        RIGHT_OF_ONE,
    ),
    (
        "dilation 2",
        "fn k<N, C>(x: f32[N + 4, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t * 2, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "stride 2 and dilation 2",
        "fn k<N, C>(x: f32[N * 2 + 4, C], w: f32[3, C]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C) { x[i * 2 + t * 2, c] * w[t, c] };
        }",
        RIGHT,
    ),
    (
        "stride 3, so that windows do not overlap",
        "fn k<N, C>(x: f32[N * 3, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i * 3 + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "flipped taps",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + 2 - t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "a flipped result",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C) { x.pad(0.0)[t - i, c] * w[t, c] };
        }",
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
        "i32",
        "fn k<N, C>(x: i32[N + 2, C], w: i32[3, C]) -> y: i32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "u32",
        "fn k<N, C>(x: u32[N + 2, C], w: u32[3, C]) -> y: u32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "2 taps",
        "fn k<N, C>(x: f32[N + 1, C], w: f32[2, C]) -> y: f32[N] { y[i] = sum(t in 0..2, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "4 taps",
        "fn k<N, C>(x: f32[N + 3, C], w: f32[4, C]) -> y: f32[N] { y[i] = sum(t in 0..4, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "7 taps",
        "fn k<N, C>(x: f32[N + 6, C], w: f32[7, C]) -> y: f32[N] { y[i] = sum(t in 0..7, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "1 tap",
        "fn k<N, C>(x: f32[N, C], w: f32[1, C]) -> y: f32[N] { y[i] = sum(t in 0..1, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "taps of a number that is not known",
        "fn k<N, C, T>(x: f32[N + T, C], w: f32[T, C]) -> y: f32[N] { y[i] = sum(t in 0..T, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "windows in three dimensions",
        "fn k<D, H, W>(x: f32[D + 2, H + 2, W + 2], w: f32[3, 3, 3]) -> y: f32[D, H, W] {
            y[h, i, j] = sum(q in 0..3, r in 0..3, s in 0..3) { x[h + q, i + r, j + s] * w[q, r, s] };
        }",
        RIGHT_OF_ONE,
    ),
    (
        "two axes of the sum in one window",
        "fn k<N>(x: f32[N + 4], w: f32[3, 3]) -> y: f32[N] { y[i] = sum(r in 0..3, s in 0..3) { x[i + r + s] * w[r, s] }; }",
        RIGHT_OF_ONE,
    ),
    (
        "a maximum",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] { y[i] = max(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "an argument of a maximum",
        "fn k<N>(x: f32[N + 2], w: f32[3]) -> y: i32[N] { y[i] = argmax(t in 0..3) { x[i + t] * w[t] }; }",
        RIGHT_OF_ONE,
    ),
    ("no reduction", "fn k<N, C>(x: f32[N, C], w: f32[C]) -> y: f32[N, C] { y[i, c] = x[i, c] * w[c]; }", RIGHT),
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
    ("inlined, though it is stored", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); inline(v); }"),
    (
        "a matrix product",
        "fn k<M, N, C>(x: f32[M, C], w: f32[C, N]) -> y: f32[M, N] { y[i, j] = sum(c in 0..C) { x[i, c] * w[c, j] }; }",
        RIGHT,
    ),
    (
        "two factors that slide",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[N + 2, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[i + t, c] }; }",
        RIGHT,
    ),
    (
        "a filter for each result",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[N, 3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[i, t, c] }; }",
        RIGHT,
    ),
    (
        "an input that depends on the result's place",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C) { (x[i + t, c] * (i as f32)) * w[t, c] };
        }",
        RIGHT,
    ),
    (
        "an input that depends on the tap",
        "fn k<N, C>(x: f32[N + 2, C, 3], w: f32[3, C]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c, t] * w[t, c] }; }",
        RIGHT,
    ),
    (
        "a range that depends on another axis",
        "fn k<N>(x: f32[N + 2, N], w: f32[3, N]) -> y: f32[N] { y[i] = sum(t in 0..3, c in 0..i) { x[i + t, c] * w[t, c] }; }",
        "where N <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }",
    ),
    ("channels without a bound", FIR, "{ decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }"),
    (
        "two sums of channels without a bound",
        "fn k<N, C, D>(x: f32[N + 2, C, D], w: f32[3, C, D]) -> y: f32[N] {
            y[i] = sum(t in 0..3, c in 0..C, d in 0..D) { x[i + t, c, d] * w[t, c, d] };
        }",
        RIGHT,
    ),
    // The tolerance.
    ("no tolerance", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 4); }"),
    ("no tolerance, of a tile of 2", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2); }"),
    ("no tolerance, in two dimensions", NHWC, "where IC <= 64 { decompose_winograd(y => v, u, g, m: 4); }"),
    ("no tolerance, stored as f16", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 4, store: f16); }"),
    ("a tolerance below the error of 4", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-7); }"),
    ("a tolerance just below the error", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 4, tolerance: 3.37e-7); }"),
    ("a tolerance below the error of 6", NHWC, "where IC <= 64 { decompose_winograd(y => v, u, g, m: 6, tolerance: 1e-7); }"),
    (
        "a tolerance below the error of points",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 10, -10], tolerance: 1e-6); }",
    ),
    ("a tolerance of 0", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 0.0); }"),
    ("a negative tolerance", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: -1e-5); }"),
    ("a tolerance that is an integer", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1); }"),
    ("a tolerance above 1", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1.5); }"),
    ("a tolerance that is a name", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: C); }"),
    ("a tolerance that is computed", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5 * 2.0); }"),
    // The tile.
    ("a tile of 3", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 3, tolerance: 1e-5); }"),
    ("a tile of 8", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 8, tolerance: 1e-5); }"),
    (
        "a tile of 4 for 5 taps",
        "fn k<N, C>(x: f32[N + 4, C], w: f32[5, C]) -> y: f32[N] { y[i] = sum(t in 0..5, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-5); }",
    ),
    (
        "a tile of 4 for 3 taps and 5",
        "fn k<H, W>(x: f32[H + 2, W + 4], w: f32[3, 5]) -> y: f32[H, W] {
            y[i, j] = sum(r in 0..3, s in 0..5) { x[i + r, j + s] * w[r, s] };
        }",
        "{ decompose_winograd(y => v, u, g, m: 4, tolerance: 1e-5); }",
    ),
    ("a tile of 0", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 0, tolerance: 1e-5); }"),
    ("a tile of -2", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: -2, tolerance: 1e-5); }"),
    ("a tile of 2.0", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2.0, tolerance: 1e-5); }"),
    ("a tile of a size", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: C, tolerance: 1e-5); }"),
    ("no tile", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, tolerance: 1e-5); }"),
    // The other keys.
    ("an unknown key", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, error: 1e-5); }"),
    ("a misspelt key", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerence: 1e-5); }"),
    ("a key said twice", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5, m: 2); }"),
    ("a key without a value", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance); }"),
    ("stored as i32", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, store: i32, tolerance: 1e-5); }"),
    ("stored as bf16", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, store: bf16, tolerance: 1e-5); }"),
    ("stored as an unknown type", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, store: half, tolerance: 1e-5); }"),
    (
        "stored as f32 and summed as f16",
        "fn k<N, C>(x: f16[N + 2, C], w: f16[3, C]) -> y: f16[N] { y[i] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] }; }",
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, store: f32, tolerance: 1e-2); }",
    ),
    ("too few points", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1], tolerance: 1e-5); }"),
    ("too many points", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1, -1, 2], tolerance: 1e-5); }"),
    ("no points", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [], tolerance: 1e-5); }"),
    ("one point", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: 1, tolerance: 1e-5); }"),
    ("equal points", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1/2, 2/4], tolerance: 1e-5); }"),
    (
        "points that are floats",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 0.5, -0.5], tolerance: 1e-5); }",
    ),
    ("a point of 1/0", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1, 1/0], tolerance: 1e-5); }"),
    (
        "a point that is a sum",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1, 1 + 1], tolerance: 1e-5); }",
    ),
    (
        "a point that is a size",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1, C], tolerance: 1e-5); }",
    ),
    (
        "a point that is large",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, points: [0, 1, 1001], tolerance: 1e-5); }",
    ),
    // Names.
    ("the name of an input", FIR, "where C <= 64 { decompose_winograd(y => x, u, g, m: 2, tolerance: 1e-5); }"),
    ("the name of the convolution", FIR, "where C <= 64 { decompose_winograd(y => v, u, y, m: 2, tolerance: 1e-5); }"),
    (
        "the name of another stage",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            let s[i, c]: f32[N + 2, C] = x[i, c].exp();
            y[i] = sum(t in 0..3, c in 0..C) { s[i + t, c] * w[t, c] };
        }",
        "where C <= 64 { decompose_winograd(y => v, s, g, m: 2, tolerance: 1e-5); }",
    ),
    (
        "the name of a scalar",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C], a: f32) -> y: f32[N] {
            y[i] = a * sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
        }",
        "where C <= 64 { decompose_winograd(y => v, u, a, m: 2, tolerance: 1e-5); }",
    ),
    ("one name twice", FIR, "where C <= 64 { decompose_winograd(y => v, v, g, m: 2, tolerance: 1e-5); }"),
    ("a stage that is misspelt", FIR, "where C <= 64 { decompose_winograd(z => v, u, g, m: 2, tolerance: 1e-5); }"),
    ("an input in place of a stage", FIR, "where C <= 64 { decompose_winograd(x => v, u, g, m: 2, tolerance: 1e-5); }"),
    ("no arrow", FIR, "where C <= 64 { decompose_winograd(y, v, u, g, m: 2, tolerance: 1e-5); }"),
    ("two names", FIR, "where C <= 64 { decompose_winograd(y => v, u, m: 2, tolerance: 1e-5); }"),
    ("four names", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, z, m: 2, tolerance: 1e-5); }"),
    ("no comma between names", FIR, "where C <= 64 { decompose_winograd(y => v, u g, m: 2, tolerance: 1e-5); }"),
    ("no comma after names", FIR, "where C <= 64 { decompose_winograd(y => v, u, g m: 2, tolerance: 1e-5); }"),
    ("no comma between keys", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2 tolerance: 1e-5); }"),
    ("a number in place of a name", FIR, "where C <= 64 { decompose_winograd(y => v, u, 1, m: 2, tolerance: 1e-5); }"),
    ("nothing", FIR, "where C <= 64 { decompose_winograd(); }"),
    ("no parentheses", FIR, "where C <= 64 { decompose_winograd; }"),
    // Its position, and other directives on its stages.
    (
        "after a directive",
        FIR,
        "where C <= 64 { tile(i: 4) => workgroup(x); decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); }",
    ),
    (
        "in a block",
        "fn k<N, C>(x: f32[N + 2, C], w: f32[3, C]) -> y: f32[N] {
            let s[i]: f32[N] = sum(t in 0..3, c in 0..C) { x[i + t, c] * w[t, c] };
            y[i] = s[i].exp();
        }",
        "where C <= 64 { s { decompose_winograd(s => v, u, g, m: 2, tolerance: 1e-5); } }",
    ),
    (
        "twice",
        FIR,
        "where C <= 64 {
            decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5);
            decompose_winograd(y => a, b, d, m: 2, tolerance: 1e-5);
        }",
    ),
    (
        "twice with the same names",
        FIR,
        "where C <= 64 {
            decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5);
            decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5);
        }",
    ),
    (
        "of a stage that it made",
        FIR,
        "where C <= 64 {
            decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5);
            decompose_winograd(g => a, b, d, m: 2, tolerance: 1e-5);
        }",
    ),
    ("products inlined", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); inline(g); }"),
    ("products precomputed", FIR, "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); precompute(g); }"),
    (
        "a tile of results scheduled",
        FIR,
        "where C <= 64 { decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-5); y_tile { unroll(i); } }",
    ),
];

/// Shows the whole messages: each must name the mistake and its place, and say what to write instead.
#[test]
fn what_is_refused() {
    insta::assert_snapshot!("refusals", refusals(REFUSED));
}

/// The tolerance that an error proposes is accepted, for every tile and type, however the figures are rounded.
#[test]
fn the_tolerance_that_is_proposed() {
    for (m, store) in [2, 4, 6].into_iter().flat_map(|m| [(m, ""), (m, ", store: f16")]) {
        for channels in [1, 9, 64, 100, 1000] {
            let of = |more: &str| format!("where C <= {channels} {{ decompose_winograd(y => v, u, g, m: {m}{store}{more}); }}");
            let error = compiled(FIR, &of("")).map(|_| ()).expect_err("no tolerance");
            let proposed = error.split("write `").nth(1).and_then(|text| text.split('`').next()).expect("a tolerance");
            let schedule = of(&format!(", {proposed}"));
            assert_eq!(compiled(FIR, &schedule).err(), None, "{schedule}");
        }
    }
}
