//! Several updates in a kernel: each reads the values before the launch. The results are compared with Rust's loops.

use crate::harness::{Fill, Named, profiles, refused, variant};

/// Compiles a kernel under schedules for two profiles, runs it at some sizes, and compares the results with `wanted`.
pub(super) fn compare(kernel: &str, schedules: &[&str], sizes: &[&[(&str, i64)]], wanted: &dyn Fn(&Named, usize) -> Named) {
    for (schedule, profile) in schedules.iter().flat_map(|schedule| profiles().map(|profile| (schedule, profile))) {
        let made = variant(kernel, &format!("V: k for p {{ {schedule} }}"), &profile);
        for dims in sizes {
            made.check(dims, &[]);
            for (given, got) in made.results(dims, &[], &|_| Fill::Small) {
                for (name, values) in wanted(&given, dims[0].1 as usize) {
                    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
                    assert!(
                        got[&name].len() == values.len() && got[&name].iter().zip(&values).all(close),
                        "{name} at {dims:?}: {schedule}"
                    );
                }
            }
        }
    }
}

pub(super) fn named<const C: usize>(results: [(&str, Vec<f64>); C]) -> Named {
    results.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
}

/// The optimizer Adam: the weights need both averages, which the weights' update computes from the old ones.
#[test]
fn averages_and_weights() {
    let kernel = "fn k<N>(g: f32[N], m: &mut f32[N], v: &mut f32[N], w: &mut f32[N]) {
        let a[i]: f32[N] = 0.9 * m[i] + 0.1 * g[i];
        let b[i]: f32[N] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        m[i] = a[i];
        v[i] = b[i];
        w[i] = w[i] - 0.1 * a[i] / (b[i].abs().sqrt() + 0.01);
    }";
    let stored = "root(a, b); a, b, m, v, w { tile(i: 32) => workgroup(x); distribute(i => thread(x)); }";
    let copied = "inline(a, b); m, v { tile(i: 64) => workgroup(x); distribute(i => thread(x)); }
        w {
            tile(i: 64) => workgroup(x);
            promote(m => old, at: workgroup, to: shared);
            distribute(i => thread(x));
        }
        old { distribute(i => thread(x)); }";
    compare(kernel, &["", stored, copied], &[&[("N", 1)], &[("N", 100)], &[("N", 1025)]], &|given, _| {
        let of = |value: &dyn Fn(usize) -> f64| (0..given["g"].len()).map(value).collect::<Vec<f64>>();
        let m = of(&|i| 0.9 * given["m"][i] + 0.1 * given["g"][i]);
        let v = of(&|i| 0.999 * given["v"][i] + 0.001 * given["g"][i] * given["g"][i]);
        let w = of(&|i| given["w"][i] - 0.1 * m[i] / (v[i].abs().sqrt() + 0.01));
        named([("m", m), ("v", v), ("w", w)])
    });
}

/// Two tensors change places, so one of them must be stored elsewhere first.
#[test]
fn tensors_change_places() {
    let kernel = "fn k<N>(a: &mut f32[N], b: &mut f32[N]) { let old[i]: f32[N] = a[i]; a[i] = b[i]; b[i] = old[i]; }";
    compare(kernel, &["", "root(old);"], &[&[("N", 1)], &[("N", 77)]], &|given, _| {
        named([("a", given["b"].clone()), ("b", given["a"].clone())])
    });
    refused(kernel, "V: k for p { inline(old); }", "`old` cannot be inlined into `b`");
}

/// A step of a relaxation in place reads the neighbours' old values.
#[test]
fn neighbours_have_old_values() {
    let kernel = "fn k<N>(x: &mut f32[N]) where N >= 1 {
        let new[i]: f32[N] = (x.clamp()[i - 1] + x.clamp()[i + 1]) / 2.0;
        x[i] = new[i];
    }";
    compare(
        kernel,
        &["", "root(new); new { tile(i: 16) => workgroup(x); distribute(i => thread(x)); }"],
        &[&[("N", 1)], &[("N", 130)]],
        &|given, n| {
            let x = &given["x"];
            named([("x", (0..n).map(|i| (x[i.saturating_sub(1)] + x[(i + 1).min(n - 1)]) / 2.0).collect())])
        },
    );
    refused(
        kernel,
        "V: k for p { tile(i: 16) => workgroup(x); compute_at(new, workgroup, to: shared); }",
        "`new` reads `x`, which this nest updates in place",
    );
}

/// The rows of a softmax in place. Outputs read old values, too, wherever they are defined.
#[test]
fn rows_in_place() {
    let kernel = "fn k<R, C>(x: &mut f32[R, C]) -> (top: f32[R], first: f32[R]) where C >= 1 {
        top[r] = max(c in 0..C) { x[r, c] };
        let total[r]: f32[R] = sum(c in 0..C) { (x[r, c] - top[r]).exp() };
        first[r] = x[r, 0] + total[r];
        x[r, c] = (x[r, c] - top[r]).exp() / total[r];
    }";
    compare(kernel, &[""], &[&[("R", 3), ("C", 5)], &[("R", 70), ("C", 33)]], &|given, rows| {
        let x: Vec<&[f64]> = given["x"].chunks(given["x"].len() / rows).collect();
        let top: Vec<f64> = x.iter().map(|row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        let total: Vec<f64> = x.iter().zip(&top).map(|(row, top)| row.iter().map(|x| (x - top).exp()).sum()).collect();
        let first = x.iter().zip(&total).map(|(row, total)| row[0] + total).collect();
        let new =
            x.iter().zip(top.iter().zip(&total)).flat_map(|(row, (top, total))| row.iter().map(move |x| (x - top).exp() / total));
        named([("x", new.collect()), ("top", top.clone()), ("first", first)])
    });
}

/// Three tensors that need each other in a circle.
#[test]
fn circles() {
    let kernel = "fn k<N>(a: &mut f32[N], b: &mut f32[N], c: &mut f32[N]) {
        let p[i]: f32[N] = a[i] + b[N - 1 - i];
        let q[i]: f32[N] = b[i] * c[i];
        let r[i]: f32[N] = c[i] - a[i] + p[i];
        a[i] = q[i];
        b[i] = r[i];
        c[i] = p[i];
    }";
    compare(kernel, &["", "root(p, q, r);"], &[&[("N", 1)], &[("N", 90)]], &|given, n| {
        let [a, b, c] = ["a", "b", "c"].map(|name| &given[name]);
        let p: Vec<f64> = (0..n).map(|i| a[i] + b[n - 1 - i]).collect();
        let q = (0..n).map(|i| b[i] * c[i]).collect();
        let r = (0..n).map(|i| c[i] - a[i] + p[i]).collect();
        named([("a", q), ("b", r), ("c", p)])
    });
}

/// A stage reads the old values of `x` only through an intermediate that is computed in its place. Another update needs the stage.
#[test]
fn old_values_where_a_later_update_needs_them() {
    let kernel = "fn k<M>(x: &mut f32[M], y: &mut f32[M]) {
        let old[i]: f32[M] = x[i] * 2.0;
        x[i] = 1.0;
        let all[j]: f32[M] = sum(k in 0..3) { old.clamp()[j + k] };
        y[i] = y[i] + all[i];
    }";
    let placed = "root(all); all { tile(j: 4) => workgroup(x); compute_at(old, j, to: register); serial(j); unroll(k); }";
    compare(kernel, &["", "root(all, old);", placed], &[&[("M", 0)], &[("M", 1)], &[("M", 9)]], &|given, m| {
        let all = |i: usize| (0..3).map(|k| 2.0 * given["x"][(i + k).min(m - 1)]).sum::<f64>();
        named([("x", vec![1.0; m]), ("y", (0..m).map(|i| given["y"][i] + all(i)).collect())])
    });
}

/// A result that is defined together with an update is read by a later stage, which so follows the update.
#[test]
fn results_beside_an_update_are_read_after_it() {
    let kernel = "fn k<N>(x: f32[N], u: &mut f32[N]) -> (y: f32[N], z: f32[N]) {
        (y[i], u[i]) = (x[i] * 2.0, u[i] + x[i]);
        z[i] = sum(k in 0..2) { y.clamp()[i + k] };
    }";
    let placed = "z { tile(i: 4) => workgroup(x); promote(y => copied, at: workgroup, to: shared); serial(i); }";
    compare(kernel, &["", placed], &[&[("N", 1)], &[("N", 9)]], &|given, n| {
        let y: Vec<f64> = given["x"].iter().map(|x| 2.0 * x).collect();
        let u = given["x"].iter().zip(&given["u"]).map(|(x, u)| u + x).collect();
        named([("z", (0..n).map(|i| y[i] + y[(i + 1).min(n - 1)]).collect()), ("u", u), ("y", y)])
    });
}

/// A stage needs a result of an update and old values that the update overwrites. The old values are stored before.
#[test]
fn old_values_after_the_update() {
    let kernel = "fn k<N>(x: f32[N], u: &mut f32[N]) -> (y: f32[N], z: f32[N]) {
        let old[i]: f32[N] = u[i] * 2.0;
        (y[i], u[i]) = (x[i] * 2.0, u[i] + x[i]);
        z[i] = sum(k in 0..2) { y.clamp()[i + k] + old.clamp()[i + k] };
    }";
    compare(kernel, &["", "root(old);"], &[&[("N", 0)], &[("N", 1)], &[("N", 9)]], &|given, n| {
        let (x, u) = (&given["x"], &given["u"]);
        let item = |i: usize| 2.0 * (x[i.min(n - 1)] + u[i.min(n - 1)]);
        let y = x.iter().map(|x| 2.0 * x).collect();
        named([
            ("y", y),
            ("u", x.iter().zip(u).map(|(x, u)| u + x).collect()),
            ("z", (0..n).map(|i| item(i) + item(i + 1)).collect()),
        ])
    });
    let placed = "z { tile(i: 4) => workgroup(x); compute_at(old, i, to: register); serial(i); unroll(k); }";
    refused(kernel, &format!("V: k for p {{ {placed} }}"), "`old` reads `u`, which an earlier dispatch updates in place");
}
