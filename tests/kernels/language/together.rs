//! Tensors that are defined together, in one dispatch, against Rust's loops.

use super::updates::{compare, named};
use crate::harness::{profiles, variant};
use tilewright_dsl::launch::Feature;

/// The optimizer Adam in one dispatch, also with vectors, guards for each lane, peeled tiles and copies.
#[test]
fn averages_and_weights() {
    let kernel = "fn k<N>(g: f32[N], m: &mut f32[N], v: &mut f32[N], w: &mut f32[N]) {
        (w[i], m[i], v[i]) = {
            let a = 0.9 * m[i] + 0.1 * g[i];
            let b = 0.999 * v[i] + 0.001 * g[i] * g[i];
            (w[i] - 0.1 * a / (b.abs().sqrt() + 0.01), a, b)
        };
    }";
    let schedules = [
        "",
        "tile(i: 64) => workgroup(x); distribute(i => thread(x));",
        "tile(i: 64 peel) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar);",
        "tile(i: 16) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar);",
        "tile(i: 32) => workgroup(x); promote(g => g_c, at: workgroup, to: shared); distribute(i => thread(x));
            g_c { distribute(i => thread(x)); }",
        "tile(i: 6 => o) => workgroup(x); unroll(i);",
    ];
    compare(kernel, &schedules, &[&[("N", 1)], &[("N", 100)], &[("N", 1025)]], &|given, n| {
        let of = |value: &dyn Fn(usize) -> f64| (0..n).map(value).collect::<Vec<f64>>();
        let m = of(&|i| 0.9 * given["m"][i] + 0.1 * given["g"][i]);
        let v = of(&|i| 0.999 * given["v"][i] + 0.001 * given["g"][i] * given["g"][i]);
        let w = of(&|i| given["w"][i] - 0.1 * m[i] / (v[i].abs().sqrt() + 0.01));
        named([("m", m), ("v", v), ("w", w)])
    });
}

/// Each of two tensors gets the other's values. All values are loaded before the first store.
#[test]
fn tensors_change_places() {
    let kernel = "fn k<N>(a: &mut f32[N], b: &mut f32[N]) { (a[i], b[i]) = (b[i], a[i]); }";
    let vectors =
        "tile(i: 32) => workgroup(x); tile(i: 8) => thread(x); tile(i: 4 => p); vectorize(i, 4, unaligned: scalar); serial(p);";
    let schedules = ["", "tile(i: 8) => workgroup(x); distribute(i => thread(x));", vectors];
    compare(kernel, &schedules, &[&[("N", 1)], &[("N", 77)]], &|given, _| {
        named([("a", given["b"].clone()), ("b", given["a"].clone())])
    });
    let made = variant(kernel, "V: k for p {}", &profiles()[0]);
    assert_eq!(made.program.dispatches.len(), 1);
}

/// The mean and the variance of rows, and normalized rows with other axes. Reductions are intermediates, which a schedule can place.
#[test]
fn statistics_of_rows() {
    // The first sum is one intermediate, although both values use it.
    let kernel = "fn k<R, C>(x: f32[R, C]) -> (mean: f32[R], spread: f32[R], y: f32[R, C]) where C >= 1 {
        (mean[r], spread[r]) = {
            let m = sum(c in 0..C) { x[r, c] } / C as f32;
            (m, sum(c in 0..C) { x[r, c] * x[r, c] } / C as f32 - m * m)
        };
        y[r, c] = (x[r, c] - mean[r]) / (spread[r].abs() + 1.0);
    }";
    let placed = "mean {
            tile(r: 1) => workgroup(x);
            compute_at(mean_sum, workgroup, to: register);
            compute_at(spread_sum, workgroup, to: register);
        }
        mean_sum, spread_sum { tile(c: 16 => c_o); distribute(c => thread(x), by: tree); }
        y { tile(r: 2, c: 32) => workgroup(y, x); distribute(r, c => thread(y, x)); }";
    compare(kernel, &["", placed], &[&[("R", 3), ("C", 5)], &[("R", 17), ("C", 70)]], &|given, rows| {
        let x: Vec<&[f64]> = given["x"].chunks(given["x"].len() / rows).collect();
        let average = |row: &[f64], value: fn(f64) -> f64| row.iter().map(|x| value(*x)).sum::<f64>() / row.len() as f64;
        let mean: Vec<f64> = x.iter().map(|row| average(row, |x| x)).collect();
        let spread: Vec<f64> = x.iter().zip(&mean).map(|(row, mean)| average(row, |x| x * x) - mean * mean).collect();
        let y = x
            .iter()
            .zip(mean.iter().zip(&spread))
            .flat_map(|(row, (mean, spread))| row.iter().map(move |x| (x - mean) / (spread.abs() + 1.0)));
        named([("y", y.collect()), ("mean", mean.clone()), ("spread", spread.clone())])
    });
}

/// Results of different dtypes, one of them updated in place.
#[test]
fn dtypes_differ() {
    let kernel = "fn k<N>(x: f32[N], n: &mut i32[N]) -> (whole: i8[N], half: f16[N], up: bool[N]) {
        (whole[i], half[i], n[i], up[i]) = ((x[i] * 8.0) as i8, (x[i] / 2.0) as f16, n[i] + whole_of(x[i]), x[i] > 0.0);
    }"
    .replace("whole_of(x[i])", "(x[i] * 4.0) as i32");
    let vectors = "tile(i: 64) => workgroup(x); tile(i: 4) => thread(x); vectorize(i, 4, unaligned: scalar);";
    for schedule in ["", vectors] {
        for mut profile in profiles() {
            profile.features.insert(Feature::Storage8);
            let made = variant(&kernel, &format!("V: k for p {{ {schedule} }}"), &profile);
            [1, 66, 257].into_iter().for_each(|n| made.check(&[("N", n)], &[]));
        }
    }
}
