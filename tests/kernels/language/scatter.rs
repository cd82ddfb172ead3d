//! Reductions with a condition, `sum(i in 0..N) where x[i] == b { … }`, and their updates of memory by `scatter`, against Rust's loops.

use crate::harness::{Fill, Variant, profiles, variant};

/// Counts and weighs the elements of each row by bins. Elements outside of the bins are left out.
const COUNTS: &str = "fn k<R, N, B = 10>(x: i32[R, N]) -> count: i32[R, B] where N >= 1 {
    count[r, b] = sum(i in 0..N) where x[r, i] == b { i + 1 };
}";

/// Bins over all elements, whose numbers begin at -2, behind a second condition.
const ALL: &str = "fn k<R, N>(x: i32[R, N], w: f32[R, N]) -> (count: i32[5], weight: f32[5]) {
    let bins[b]: i32[-2..3] = sum(r in 0..R, i in 0..N) where w[r, i] > 0.0 && x[r, i] == b { 1 };
    let weights[b]: f32[-2..3] = sum(r in 0..R, i in 0..N) where w[r, i] > 0.0 && x[r, i] == b { w[r, i] };
    count[b] = bins[b - 2] * 3;
    weight[b] = weights[b - 2];
}";

fn counts(made: &Variant, [r, n]: [i64; 2]) {
    let dims = [("R", r), ("N", n)];
    made.check(&dims, &[]);
    for (given, got) in made.results(&dims, &[], &|_| Fill::Small) {
        let row = |at: usize| given["x"][at * n as usize..][..n as usize].iter().enumerate();
        let bin = |at: usize, b: usize| row(at).filter(|(_, x)| **x == b as f64).map(|(i, _)| i as f64 + 1.0).sum::<f64>();
        let wanted: Vec<f64> = (0..r as usize).flat_map(|at| (0..10).map(move |b| (at, b))).map(|(at, b)| bin(at, b)).collect();
        assert_eq!(got["count"], wanted, "{r} x {n}");
    }
}

/// Returns the item of a bin: 0 unless `x` is its number.
fn in_bin(x: f64, w: f64, bin: i64, item: f64) -> f64 {
    if w > 0.0 && x == bin as f64 { item } else { 0.0 }
}

#[test]
fn bins_that_begin_below_zero() {
    let block = "scatter(b); tile(i: 32 => i_o); distribute(r, i_o => workgroup(y, x), by: atomic);
        distribute(i => thread(x), by: atomic);";
    // Floats are added in a fixed order: each invocation has its own bins.
    let private = "tile(i: 16 => i_o); rfactor(i_o => part);";
    let part = "part { scatter(b); tile(i_o: 8) => workgroup(x); distribute(i_o => thread(x)); }";
    let schedules = [String::new(), format!("root(bins, weights); bins {{ {block} }} weights {{ {private} }} {part}")];
    for schedule in &schedules {
        for profile in profiles() {
            let made = variant(ALL, &format!("V: k for p {{ {schedule} }}"), &profile);
            for [r, n] in [[0, 3], [1, 1], [3, 50], [2, 300]] {
                let dims = [("R", r), ("N", n)];
                made.check(&dims, &[]);
                for (given, got) in made.results(&dims, &[], &|_| Fill::Small) {
                    let items = || given["x"].iter().zip(&given["w"]);
                    let all =
                        |bin: i64, item: &dyn Fn(f64) -> f64| items().map(|(x, w)| in_bin(*x, *w, bin, item(*w))).sum::<f64>();
                    for bin in -2..3i64 {
                        let at = (bin + 2) as usize;
                        assert_eq!(got["count"][at], all(bin, &|_| 3.0), "{r} x {n}, {schedule}");
                        let wanted = all(bin, &|w| w);
                        assert!((got["weight"][at] - wanted).abs() <= 1e-4 * wanted.max(1.0), "{r} x {n}, {schedule}");
                    }
                }
            }
        }
    }
}

#[test]
fn bins_of_rows() {
    let schedules = [
        "",
        "tile(r: 4) => workgroup(x); distribute(r => thread(x)); unroll(b);",
        // Each invocation updates the bins of its own row, one item after another.
        "scatter(b); tile(r: 4) => workgroup(x); distribute(r => thread(x));",
        "scatter(b); tile(r: 4) => workgroup(x); distribute(r => thread(x)); tile(i: 4 => i_o); unroll(i);",
        // Several invocations update a row.
        "scatter(b); distribute(r => workgroup(y)); tile(i: 32 => i_o); distribute(i_o => workgroup(x), by: atomic);
         distribute(i => thread(x), by: atomic);",
        "scatter(b); tile(r: 2) => workgroup(x); distribute(r => thread(y)); tile(i: 32 => i_o);
         distribute(i => thread(x), by: atomic);",
        // Each workgroup counts in shared memory, and adds its bins to the result.
        "tile(i: 40 => i_o); rfactor(i_o => part); distribute(r => workgroup(y)); distribute(i_o => workgroup(x), by: atomic);
         compute_at(part, i_o, to: shared); distribute(b => thread(x));
         part { scatter(b); tile(i: 8 => i_i); distribute(i => thread(x), by: atomic); }",
    ];
    for schedule in schedules {
        for profile in profiles() {
            let made = variant(COUNTS, &format!("V: k for p {{ {schedule} }}"), &profile);
            [[1, 1], [3, 5], [5, 129]].into_iter().for_each(|shape| counts(&made, shape));
        }
    }
}
