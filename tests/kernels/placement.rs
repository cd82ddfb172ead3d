//! Intermediates in the places that a schedule gives them.

use crate::harness::{profiles, variant};

const SOFTMAX: &str = "fn softmax<B, N>(x: f32[B, N]) -> y: f32[B, N] {
    let m[b]: f32[B] = max(j in 0..N) { x[b, j] };
    let e[b, j]: f32[B, N] = (x[b, j] - m[b]).exp();
    let s[b]: f32[B] = sum(j in 0..N) { e[b, j] };
    y[b, j] = e[b, j] / s[b];
}";

/// A chain of pointwise stages, one of which is read at several places and outside of itself.
const CHAIN: &str = "fn chain<H, W>(x: f32[H, W], w: f32[3]) -> y: f32[H, W] {
    let a[i, j]: f32[H, W] = x[i, j] * 2.0 + w[0];
    let b[i, j]: f32[H, W] = a.pad(1.0)[i - 1, j] + a.clamp()[i, j + 1];
    y[i, j] = b[i, j] * b.pad(0.0)[i, j - 1];
}";

fn check(kernel: &str, schedule: &str, dispatches: usize, sizes: &[&[(&str, i64)]]) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        assert_eq!(variant.program.dispatches.len(), dispatches, "{schedule}");
        sizes.iter().for_each(|dims| variant.check(dims, &[]));
    }
}

#[test]
fn roots() {
    let rows: [&[(&str, i64)]; 3] = [&[("B", 3), ("N", 130)], &[("B", 1), ("N", 1)], &[("B", 67), ("N", 5)]];
    check(SOFTMAX, "V: softmax for p {}", 3, &rows);
    check(SOFTMAX, "V: softmax for p { root(m, e); }", 4, &rows);
    check(SOFTMAX, "V: softmax for p { inline(e); }", 3, &rows);
    check(
        SOFTMAX,
        "V: softmax for p {
            root(e);
            e { tile(b: 1, j: 64) => workgroup(y, x); distribute(j => thread(x)); }
            s { distribute(b => workgroup(x)); tile(j: 4 peel); unroll(j); }
            tile(b: 4 peel, j: 16) => workgroup(y, x);
            distribute(b, j => thread(y, x));
        }",
        4,
        &rows,
    );
    let boxes: [&[(&str, i64)]; 3] = [&[("H", 7), ("W", 33)], &[("H", 1), ("W", 1)], &[("H", 64), ("W", 3)]];
    check(CHAIN, "V: chain for p {}", 1, &boxes);
    check(CHAIN, "V: chain for p { root(a); }", 2, &boxes);
    check(CHAIN, "V: chain for p { inline(a); root(b); }", 2, &boxes);
    check(CHAIN, "V: chain for p { root(a, b); }", 3, &boxes);
}
