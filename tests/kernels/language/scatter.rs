//! Reductions with a condition, `sum(i in 0..N) where x[i] == b { … }`, and their updates of memory by `scatter`, against Rust's loops.

use crate::harness::{Fill, Variant, check, profiles, refused, variant};

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

/// Reads at the place of the greatest element above 0, or at the first place.
const PLACE: &str = "fn k<N>(x: i32[N], w: f32[N]) -> (y: i32[], z: f32[]) where N >= 1 {
    let place[]: i32[] = argmax(i in 0..N) where x[i] > 0 { x[i] };
    let least[]: i32[] = argmin(i in 0..N) where x[i] > 50 { w[i] };
    y[] = x[place[]];
    z[] = w[least[]];
}";

/// A place is known to be within the range, but not to be the first one.
#[test]
fn places_of_some_items() {
    check(PLACE, "V: k for p {}", &[&[("N", 1)], &[("N", 2)], &[("N", 40)]]);
    let out_of_bounds = PLACE.replace("x: i32[N]", "x: i32[N], short: i32[1]").replace("x[place[]]", "short[place[]]");
    refused(&out_of_bounds, "V: k for p {}", "may be out of bounds");
}

/// Sums by bins that depend on the row, and reads at bins.
const READS: &str = "fn k<R, N, B>(x: i32[R, N], w: f32[B], v: f32[N]) -> y: f32[R, B] where B >= 1 {
    y[r, b] = sum(i in 0..N) where x[r, i] - 2 == b && b < 7 { w[B - 1 - b] + v[i] * w[b / 2] };
}";

/// The item reads at the bin, and copies of its reads are made before and after the updates.
#[test]
fn bins_that_items_read() {
    let schedules = [
        "scatter(b); distribute(r => workgroup(x));",
        "scatter(b); tile(i: 8 => i_o); promote(x => x_s, at: i_o, to: shared); distribute(r => workgroup(x));",
        "scatter(b); tile(i: 8 => i_o); promote(x => x_r, at: i, to: register); promote(v => v_r, at: i, to: register);
         distribute(r => workgroup(x));",
        "scatter(b); tile(r: 8) => workgroup(x); distribute(r => thread(x)); tile(i: 4 => i_o);
         promote(x => x_s, at: i_o, to: shared); promote(v => v_s, at: i_o, to: shared); pipeline(i_o, buffers: 2);",
        "tile(i: 8 => i_o); rfactor(i_o => part); distribute(r => workgroup(x)); serial(b);
         compute_at(part, i_o, to: shared); part { scatter(b); }",
    ];
    for schedule in schedules {
        check(
            READS,
            &format!("V: k for p where B == 9 {{ {schedule} }}"),
            &[&[("R", 1), ("N", 1)], &[("R", 9), ("N", 70)], &[("R", 3), ("N", 8)]],
        );
    }
}

/// Parts of blocks that are past the end, in shared memory.
#[test]
fn bins_past_the_end() {
    let kernel = "fn k<N>(x: i32[N]) -> y: bool[3] { y[b] = any(i in 0..N) where x[i] == b { true } ^ (b == 1); }";
    let schedule = "V: k for p where N % 4 == 0 { tile(i: 4 => i_o); rfactor(i_o => part); compute_at(part, i_o, to: shared);
        tile(i_o: 2 => z); serial(b); part { scatter(b); } }";
    check(kernel, schedule, &[&[("N", 0)], &[("N", 4)], &[("N", 20)]]);
}

/// A stage that is computed in shared memory is read where another reduction ends.
#[test]
fn bins_that_a_result_reads() {
    let kernel = "fn k<N, M>(x: i32[N], w: f32[M, 5]) -> y: f32[M] {
        let count[b]: f32[5] = sum(i in 0..N) where x[i] == b { 1.0 };
        y[m] = sum(j in 0..5) { w[m, j] } + count[m % 5];
    }";
    let schedule = "V: k for p { distribute(m => workgroup(x)); compute_at(count, workgroup, to: shared); count { scatter(b); } }";
    check(kernel, schedule, &[&[("N", 1), ("M", 1)], &[("N", 90), ("M", 7)]]);
}

/// A copy is read at the chosen bin. Its index adds and subtracts the first index of the range.
#[test]
fn copies_at_the_chosen_bin() {
    let kernel = "fn k<N>(x: f32[5], w: f32[N]) -> y: f32[N] {
        let s[i, j]: f32[-3..2, 2..9] = max(k in 0..2) { if k == i + 3 { x[i + 3] } else { f32::NEG_INFINITY } };
        y[n] = w[n] + s.clamp()[n - 3, 3].max(-1.0);
    }";
    let schedule = "V: k for p {
        s { scatter(i); tile(j: 1 => z1) => workgroup(y); promote(x => s_c, at: k, to: register); }
    }";
    check(kernel, schedule, &[&[("N", 1)], &[("N", 7)]]);
}
