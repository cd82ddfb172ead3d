//! Every reduction, several ranges, triangular bounds, intermediates.

use crate::harness::{Fill, profiles, variant};

#[test]
fn every_operator() {
    for (op, body, out) in [
        ("sum", "x[i, k]", "f32"),
        ("prod", "x[i, k]", "f32"),
        ("min", "x[i, k]", "f32"),
        ("max", "x[i, k]", "f32"),
        ("any", "x[i, k] > 0.9", "bool"),
        ("all", "x[i, k] < 0.9", "bool"),
        ("argmin", "x[i, k]", "i32"),
        ("argmax", "x[i, k]", "i32"),
    ] {
        let kernel = format!("fn reduce<N, K>(x: f32[N, K]) -> y: {out}[N] {{ y[i] = {op}(k in 0..K) {{ {body} }}; }}");
        for profile in profiles() {
            for schedule in [
                "V: reduce for p {}",
                "V: reduce for p { tile(i: 8) => workgroup(x); tile(i: 2) => thread(x); tile(k: 4); reorder(k_o, k, i); unroll(k, i); }",
            ] {
                let variant = variant(&kernel, schedule, &profile);
                for (n, k) in [(1, 1), (3, 7), (7, 130), (13, 3)] {
                    variant.check(&[("N", n), ("K", k)], &[]);
                }
            }
        }
    }
}

#[test]
fn argmax_over_two_ranges_with_ties() {
    let kernel = "fn peak<N, H, W>(x: i32[N, H, W]) -> y: i32[N] { y[n] = argmax(i in 0..H, j in 0..W) { x[n, i, j] }; }";
    for profile in profiles() {
        for schedule in
            ["V: peak for p {}", "V: peak for p { tile(n: 4) => workgroup(x); distribute(n => thread(x)); reorder(j, i); }"]
        {
            let variant = variant(kernel, schedule, &profile);
            for (n, h, w) in [(1, 1, 1), (5, 3, 7), (3, 13, 11)] {
                variant.check_filled(&[("N", n), ("H", h), ("W", w)], &[], &|_| Fill::Below(4));
            }
        }
    }
}

#[test]
fn nan_is_ignored_by_min_and_max() {
    let kernel = "fn range<N, K>(x: f32[N, K]) -> (low: f32[N], high: f32[N], at: i32[N]) {
        low[i] = min(k in 0..K) { x[i, k] };
        high[i] = max(k in 0..K) { x[i, k] };
        at[i] = argmax(k in 0..K) { x[i, k] };
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: range for p {}", &profile);
        for (n, k) in [(7, 1), (13, 3), (31, 17)] {
            variant.check_filled(&[("N", n), ("K", k)], &[], &|_| Fill::Wild);
        }
    }
}

#[test]
fn integers_wrap() {
    let kernel = "fn hash<N, K>(x: i32[N, K], y: u32[N, K]) -> (s: i32[N], p: u32[N]) {
        s[i] = sum(k in 0..K) { x[i, k] * 31 + k };
        p[i] = prod(k in 0..K) { y[i, k] | 1 };
    }";
    for profile in profiles() {
        let variant = variant(kernel, "V: hash for p {}", &profile);
        for (n, k) in [(1, 0), (7, 3), (13, 130)] {
            variant.check_filled(&[("N", n), ("K", k)], &[], &|_| Fill::Wild);
        }
    }
}

/// Each of several reductions in a definition is an intermediate, also in an update.
#[test]
fn several_in_a_definition() {
    let kernel = "fn k<N, K>(x: f32[N, K], y: &mut f32[N, K]) -> z: f32[N] where K >= 1 {
        y[i, j] = y[i, j] + (x[i, j] - max(k in 0..K) { x[i, k] }).exp() / sum(n in 0..i + 1, k in 0..K) { x[n, k].abs() + 1.0 };
        z[i] = x[i, argmax(k in 0..K) { x[i, k] }] * sum(k in 0..K) { x[i, k] } - sum(k in 0..1) { x[i, k] };
    }";
    let scheduled = "V: k for p {
        y_max, z_sum { tile(i: 2) => workgroup(x); tile(k: 32 => k_o); distribute(k => thread(x), by: tree); serial(k_o, i); }
        y { tile(i: 4, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); }
    }";
    for profile in profiles() {
        for schedule in ["V: k for p {}", scheduled] {
            let variant = variant(kernel, schedule, &profile);
            for (n, k) in [(1, 1), (3, 7), (5, 70)] {
                variant.check(&[("N", n), ("K", k)], &[]);
            }
        }
    }
}

#[test]
fn triangular_sums() {
    let kernel = "fn tri<N>(x: f32[N, N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1) { x[i, j] * x[j, i] }; }";
    for profile in profiles() {
        for schedule in [
            "V: tri for p {}",
            "V: tri for p { tile(i: 8) => workgroup(x); tile(i: 2) => thread(x); tile(j: 4); reorder(j_o, j, i); unroll(j, i); }",
            "V: tri for p { tile(i: 5) => workgroup(x); reorder(j, i); unroll(i); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for n in [1, 3, 7, 31, 130] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}

#[test]
fn softmax() {
    let kernel = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let m[r]: f32[R] = max(c in 0..C) { x[r, c] };
        let e[r, c]: f32[R, C] = (x[r, c] - m[r]).exp();
        let s[r]: f32[R] = sum(c in 0..C) { e[r, c] };
        y[r, c] = e[r, c] / s[r];
    }";
    for profile in profiles() {
        for schedule in [
            "V: softmax for p {}",
            "V: softmax for p { m, s { tile(r: 8) => workgroup(x); distribute(r => thread(x)); tile(c: 4); unroll(c); } tile(r: 2, c: 16) => workgroup(y, x); distribute(r, c => thread(y, x)); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (r, c) in [(1, 1), (3, 7), (7, 130), (31, 37)] {
                variant.check(&[("R", r), ("C", c)], &[]);
            }
        }
    }
}

#[test]
fn a_scalar_result() {
    let kernel = "fn total<N>(x: f32[N]) -> y: f32[] { y[] = sum(i in 0..N) { x[i] }; }";
    for profile in profiles() {
        let variant = variant(kernel, "V: total for p {}", &profile);
        for n in [0, 1, 130] {
            variant.check(&[("N", n)], &[]);
        }
    }
}

/// Rounded-up parts of an axis, and axes fused with parts: each element counts once, and none out of bounds.
#[test]
fn parts_and_fused_axes_rounded_up() {
    let kernel = "fn total<M, K, L>(a: f32[M, K, L], b: f32[K, L]) -> c: f32[M] {
        c[i] = sum(k in 0..K, l in 0..L) { a[i, k, l] * b[k, l] };
    }";
    for profile in profiles() {
        for directives in [
            "split(k, [_, 4] => k_o, k); tile(k_o: 3 round_up)",
            "tile(k: 8); tile(k: 3 round_up => k_m)",
            "tile(k: 8 round_up); tile(k: 3 round_up => k_m); unroll(k)",
            "fuse(k, l => p); tile(p: 8 round_up); unroll(p)",
            "tile(k: 4 => k_o); fuse(k, l => p); tile(p: 8 round_up)",
            "tile(k: 4 round_up => k_o); reorder(k, k_o, l); fuse(k_o, l => p); tile(p: 8 round_up)",
        ] {
            let schedule = format!("V: total for p {{ tile(i: 4) => workgroup(x); distribute(i => thread(x)); {directives}; }}");
            let variant = variant(kernel, &schedule, &profile);
            for (m, k, l) in [(1, 1, 1), (5, 7, 3), (3, 13, 5), (4, 8, 8)] {
                variant.check(&[("M", m), ("K", k), ("L", l)], &[]);
            }
        }
    }
}
