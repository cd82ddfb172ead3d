//! Workgroups that are counted downwards compute the same results.

use crate::harness::{check, nest};

#[test]
fn downwards() {
    let kernel =
        "fn k<A, B, C>(x: f32[A, B, C]) -> y: f32[A, B, C] { y[a, b, c] = x[a, b, c] * 2.0 + (a * 100 + b * 10 + c) as f32; }";
    let sizes: [&[(&str, i64)]; 4] = [
        &[("A", 3), ("B", 5), ("C", 7)],
        &[("A", 1), ("B", 1), ("C", 1)],
        &[("A", 2), ("B", 70_000), ("C", 1)],
        &[("A", 0), ("B", 4), ("C", 4)],
    ];
    for coordinates in ["z, y, x down", "z down, z, x", "x, x down, x", "y down, x down, x down"] {
        let schedule = format!("V: k for p {{ tile(a: 1, b: 2, c: 4) => workgroup({coordinates}); serial(b, c); }}");
        assert!(nest(kernel, &schedule).contains(", downwards"), "{coordinates}");
        check(kernel, &schedule, &sizes);
    }
    // A triangle, whose last rows are the longest.
    let kernel = "fn k<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] }; }";
    let schedule = "V: k for p { tile(i: 4) => workgroup(x down); distribute(i => thread(x)); }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 37)], &[("N", 0)]]);
}
