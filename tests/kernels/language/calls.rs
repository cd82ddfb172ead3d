//! Functions and closures in kernels, against Rust's closures.

use crate::harness::{Fill, profiles, variant};

/// Compares the results of a kernel of `x` with a function of the element's neighbours, `x[i - 1]`, `x[i]` and `x[i + 1]`, clamped.
fn each(kernel: &str, expected: impl Fn(f64, f64, f64) -> f64) {
    for profile in profiles() {
        for body in ["", "tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar);"] {
            let made = variant(kernel, &format!("V: k for p {{ {body} }}"), &profile);
            for n in [0, 1, 3, 131] {
                made.check_filled(&[("N", n)], &[], &|_| Fill::Small);
                for (given, got) in made.results(&[("N", n)], &[], &|_| Fill::Small) {
                    let x = &given["x"];
                    let at = |i: usize| x[i.min(x.len() - 1)];
                    let wanted: Vec<f64> = (0..x.len()).map(|i| expected(at(i.saturating_sub(1)), at(i), at(i + 1))).collect();
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-5 * b.abs().max(1.0);
                    assert!(got["y"].iter().zip(&wanted).all(near), "{kernel}\n{x:?}\n{got:?}\n{wanted:?}");
                }
            }
        }
    }
}

#[test]
fn functions_before_a_kernel() {
    let kernel = "fn cube(v: f32) -> f32 { v * v * v }
        fn smoothstep<T: f32 | f16>(v: T) -> T { let u = v.clamp(0.0, 1.0); u * u * (3.0 - 2.0 * u) }
        fn both(v, w) { if v < w { cube(v) } else { smoothstep(w) - cube(w) } }
        fn k<N>(x: f32[N]) -> y: f32[N] { y[i] = both(x[i], x.clamp()[i + 1]) + cube(0.5); }";
    let cube = |v: f64| v * v * v;
    let smoothstep = |v: f64| {
        let u = v.clamp(0.0, 1.0);
        u * u * (3.0 - 2.0 * u)
    };
    let both = |v: f64, w: f64| if v < w { cube(v) } else { smoothstep(w) - cube(w) };
    each(kernel, |_, x, next| both(x, next) + cube(0.5));
}

#[test]
fn closures_of_tensors_and_axes() {
    let kernel = "fn k<N>(x: f32[N]) -> y: f32[N] {
        let at = |j| x.clamp()[j];
        let weigh = |a, b, t| a * t + b * (1.0 - t);
        y[i] = {
            let by = |d: i32| at(i + d);
            let slope = || (by(1) - by(-1)) / 2.0;
            weigh(slope(), by(0), 0.25)
        };
    }";
    each(kernel, |before, x, next| (next - before) / 2.0 * 0.25 + x * 0.75);
}

/// Indices stay indices in functions: quotients round down, and reads are proved.
#[test]
fn functions_of_indices() {
    let kernel = "fn reflect(i, n) { let r = i.abs(); if r >= n { 2 * n - 2 - r } else { r } }
        fn halves(i: i32) -> i32 { (i - 1) / 2 - i / 2 }
        fn k<N, M>(x: f32[N, M]) -> (y: f32[N, M], z: i32[N]) where N >= 2, M >= 2 {
            y[i, j] = x[reflect(i - 1, N), reflect(j + 1, M)];
            z[i] = halves(i);
        }";
    let reflect = |i: i64, n: i64| if i.abs() >= n { 2 * n - 2 - i.abs() } else { i.abs() };
    for profile in profiles() {
        let made = variant(kernel, "V: k for p {}", &profile);
        for (n, m) in [(2, 2), (3, 70), (17, 5)] {
            made.check(&[("N", n), ("M", m)], &[]);
            for (given, got) in made.results(&[("N", n), ("M", m)], &[], &|_| Fill::Small) {
                let at = |i: i64, j: i64| given["x"][(reflect(i - 1, n) * m + reflect(j + 1, m)) as usize];
                let wanted: Vec<f64> = (0..n * m).map(|e| at(e / m, e % m)).collect();
                assert_eq!(got["y"], wanted);
                let halves: Vec<f64> = (0..n).map(|i| ((i - 1).div_euclid(2) - i.div_euclid(2)) as f64).collect();
                assert_eq!(got["z"], halves);
            }
        }
    }
}

/// A function has the dtypes of its arguments, and a call of a reduction's item and of its result.
#[test]
fn functions_of_dtypes_around_reductions() {
    let kernel = "fn requantized<A: u8 | i8>(sum: i32, scale: f32, zero: A) -> A {
            ((sum as f32 * scale).round_ties_even() + zero as f32) as A
        }
        fn widened(q, zero) { q as i32 - zero as i32 }
        fn k<A: u8 | i8, M, N, K>(a: A[M, K], b: A[K, N], zero: A, scale: f32) -> c: A[M, N] {
            c[i, j] = requantized(sum(k in 0..K) { widened(a[i, k], zero) * widened(b[k, j], zero) }, scale, zero);
        }";
    let profile = tilewright_dsl::profile::Profile::mesa_lavapipe();
    for (dtype, low, high) in [("u8", 0.0, 255.0), ("i8", -128.0, 127.0)] {
        let made = variant(kernel, &format!("V: k<A = {dtype}> for p {{}}"), &profile);
        let dims = [("M", 5), ("N", 7), ("K", 9)];
        made.check(&dims, &[3.0, 0.25]);
        for (given, got) in made.results(&dims, &[3.0, 0.25], &|_| Fill::Small) {
            let item = |e: usize, k: usize| (given["a"][e / 7 * 9 + k] - 3.0) * (given["b"][k * 7 + e % 7] - 3.0);
            let of = |e: usize| ((0..9).map(|k| item(e, k)).sum::<f64>() * 0.25).round_ties_even() + 3.0;
            assert_eq!(got["c"], (0..35).map(|e| of(e).clamp(low, high)).collect::<Vec<f64>>());
        }
    }
}
