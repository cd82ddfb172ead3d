//! Reductions with a combiner of the kernel: refusals, with their whole texts.

use super::wrong::{all, snapshot};

/// Returns a kernel of one definition.
fn of(value: &str) -> String {
    format!("fn k<N, K>(x: f32[N, K], ints: i32[N, K], s: f32) -> (y: f32[N], z: i32[N]) {{\n    {value}\n    z[i] = 0;\n}}")
}

/// Combiners and identities that break a law of reductions, each with an example of it.
#[test]
fn laws() {
    let values = [
        // A mean of two numbers, and the same for a whole reduction.
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| (a + b) / 2.0;",
        "y[i] = { let (m, c) = reduce(k in 0..K) { (x[i, k], 1.0) } from (0.0, 0.0) by |(a, n), (b, m)| ((a + b) / 2.0, n + m); m + c };",
        // Two identities divide 0 by 0.
        "y[i] = { let (n, m) = reduce(k in 0..K) { (1.0, x[i, k]) } from (0.0, 0.0) by |(n, a), (m, b)| (n + m, (n * a + m * b) / (n + m)); n + m };",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 1.0 by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a.max(b);",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a - b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from f32::NEG_INFINITY by |a, b| if a > b { a } else { b };",
        // Ties, and NaN.
        "y[i] = { let (v, at) = reduce(k in 0..K) { (x[i, k], k) } from (f32::NEG_INFINITY, 0) by |(v, p), (w, q)| if w > v { (w, q) } else { (v, p) }; v + at as f32 };",
        "y[i] = { let q = reduce(k in 0..K) { ints[i, k] } from 0 by |a, b| (a + b) % 7; q as f32 };",
        "y[i] = { let q = reduce(k in 0..K) { ints[i, k] } from 0 by |a, b| a + b + s as i32 * a; q as f32 };",
        "y[i] = { let q = reduce(k in 0..K) { ints[i, k] as u8 } from 0 by |a, b| a * 2 + b; q as f32 };",
    ];
    let kernels: Vec<String> = values.iter().map(|value| of(value)).collect();
    let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
    snapshot("combiners_laws", all(&kernels));
}

#[test]
fn syntax() {
    let values = [
        "y[i] = reduce(k in 0..K) { x[i, k] };",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0;",
        "y[i] = reduce(k in 0..K) { x[i, k] } by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) x[i, k] from 0.0 by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a| a;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, a| a + a;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |s, b| s + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from s by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0 by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a + b + x[i, 0];",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a + b + k as f32;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a + b + i as f32;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a + b > 0.0;",
        "y[i] = reduce(k in 0..K) { x[i, k] } from 0.0 by |a, b| a + sum(j in 0..K) { b };",
        "y[i] = reduce() { x[i, 0] } from 0.0 by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { x[i, k] } where k > 1 from 0.0 by |a, b| a + b;",
        "y[i] = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m);",
        "y[i] = 1.0 + reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m);",
        "y[i] = { let (p, q, r) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m); p };",
        "y[i] = { let (p, q) = reduce(k in 0..K) { (x[i, k], k) } from 0.0 by |(a, n), (b, m)| (a + b, n + m); p };",
        "y[i] = { let (p, q) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |a, b| a + b; p };",
        "y[i] = { let (p, q) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| a + b; p };",
        "y[i] = { let (p, q) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| if a > b { (a, n) } else { b }; p };",
        "y[i] = { let (p, q) = sum(k in 0..K) { x[i, k] }; p };",
        "let (a, b) = reduce(k in 0..K) { (x[0, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m); y[i] = a;",
        "let (a[i], b[i]): (f32[N], f32[N]) = (s, 2.0 * s); y[i] = a[i] + b[i];",
        "let (a[i], b[i]): (f32[N]) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m); y[i] = a[i];",
        "let (a[i], b[i]): (f32, i32) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m); y[i] = a[i];",
        "let (a[i], b[i]) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(a, n), (b, m)| (a + b, n + m); y[i] = a[i];",
        "let (a[i], b[i]): (f32[N], f32[N]) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(c, n), (d, m)| (c + d, n + m); y[i] = a[i];",
    ];
    let kernels: Vec<String> = values.iter().map(|value| of(value)).collect();
    let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
    snapshot("combiners_syntax", all(&kernels));
}

/// Combiners that are right, and near to those that are not.
#[test]
fn right() {
    let values = [
        "y[i] = reduce(k in 0..K) { x[i, k] } from f32::NEG_INFINITY by |a, b| a.max(b);",
        "y[i] = reduce(k in 0..K) { x[i, k].abs() } from 0.0 by |a, b| (a * a + b * b).sqrt();",
        "y[i] = reduce(k in 0..K) where !x[i, k].is_nan() { x[i, k] } from f32::NEG_INFINITY by |a, b| if a > b { a } else { b };",
        "y[i] = reduce(k in 0..K) { x[i, k] * s } from 0.0 by |a, b| a + b + s * a * b;",
        "y[i] = { let (p, q) = reduce(k in 0..K) { (x[i, k], s) } from (1.0, 0.0) by |(a, b), (c, d)| (a * c - b * d, a * d + b * c); p + q };",
        "y[i] = { let (v, at) = reduce(k in 0..K) { (x[i, k], k) } from (f32::NEG_INFINITY, 2147483647)
            by |(v, p), (w, q)| if w > v || (w == v && q < p) { (w, q) } else { (v, p) }; v + at as f32 };",
        "y[i] = reduce(k in 0..K) { (x[i, k]) } from (0.0) by |a, b,| (a + b) * 1.0;",
        "let (a[i], b[i]): (f32[N], i32[N]) = reduce(k in 0..K) { (x[i, k], k) } from (0.0, 0) by |(c, n), (d, m)| (c + d, n + m); y[i] = a[i];",
    ];
    for value in values {
        assert!(all(&[&of(value)]).ends_with("}\nright\n\n"), "{}", all(&[&of(value)]));
    }
}
