//! Reductions with a combiner of the kernel, `reduce(…) { … } from … by …`, under schedules that combine in other orders and in parts.

use crate::all_reduce::{BLOCKED, RFACTOR, WITHIN, profiles};
use crate::harness::{check, nest, variant};

/// The greatest element of each row, and its first position.
const BEST: &str = "fn best<N, K>(x: f32[N, K]) -> (most: f32[N], at: i32[N]) {
    (most[i], at[i]) = reduce(k in 0..K) { (x[i, k], k) } from (f32::NEG_INFINITY, 2147483647)
        by |(v, p), (w, q)| if w > v || (w == v && q < p) { (w, q) } else { (v, p) };
}";

/// The mean and the variance of each row, by the count, the mean and the sum of squares (Chan, Golub and LeVeque 1979).
const MOMENTS: &str = "fn moments<N, K>(x: f32[N, K]) -> (mean: f32[N], variance: f32[N]) {
    (mean[i], variance[i]) = {
        let (count, m, s) = reduce(k in 0..K) { (1.0, x[i, k], 0.0) } from (0.0, 0.0, 0.0) by |(n, a, p), (o, b, q)| {
            let all = (n + o).max(1.0);
            let d = b - a;
            (n + o, (n * a + o * b) / all, p + q + d * d * n * o / all)
        };
        (m, s / count.max(1.0))
    };
}";

/// Loops in one invocation, with tiles and registers.
const ALONE: [&str; 4] = [
    "",
    "tile(i: 8) => workgroup(x); distribute(i => thread(x));",
    "tile(i: 8) => workgroup(x); distribute(i => thread(x)); tile(k: 4 => k_o); unroll(k);",
    "tile(i: 16) => workgroup(x); tile(i: 4) => thread(x); tile(k: 4 => k_o); reorder(k_o, k, i); unroll(k, i);",
];

fn check_all(kernel: &str, name: &str) {
    for (n, directives) in ALONE.iter().chain(&WITHIN).chain(&RFACTOR).chain(&BLOCKED).enumerate() {
        let variant = variant(kernel, &format!("V: {name} for p {{ {directives} }}"), &profiles()[n % 2]);
        for (rows, columns) in [(1, 1), (7, 130), (3, 301), (2, 0)] {
            variant.check(&[("N", rows), ("K", columns)], &[]);
        }
    }
}

#[test]
fn greatest_with_position() {
    check_all(BEST, "best");
}

#[test]
fn mean_and_variance() {
    check_all(MOMENTS, "moments");
}

/// A plan reduces a long vector in two dispatches. The states of both have six buffers, which a device with addresses takes.
#[test]
fn plan_of_a_total() {
    let kernel = "fn ends<K>(x: i32[K]) -> (least: i32[], most: i32[], xor: i32[]) {
        (least[], most[], xor[]) = reduce(k in 0..K) { (x[k], x[k], x[k]) } from (i32::MAX, i32::MIN, 0)
            by |(a, b, c), (d, e, f)| (a.min(d), b.max(e), c ^ f);
    }";
    assert_eq!(nest(kernel, "V: ends for p {}").matches("dispatch ").count(), 2);
    check(kernel, "V: ends for p {}", &[&[("K", 70_001)], &[("K", 3)], &[("K", 0)]]);
}

/// The state has the dtypes of the items. Integers are combined exactly.
#[test]
fn dtypes() {
    let sizes: [&[(&str, i64)]; 3] = [&[("N", 3), ("K", 70)], &[("N", 1), ("K", 1)], &[("N", 9), ("K", 0)]];
    for dtype in ["i32", "u32", "i16", "u16", "i8", "u8"] {
        let kernel = format!(
            "fn ends<N, K>(x: {dtype}[N, K]) -> (least: {dtype}[N], most: {dtype}[N], xor: {dtype}[N]) {{
                (least[i], most[i], xor[i]) = reduce(k in 0..K) {{ (x[i, k], x[i, k], x[i, k]) }} from ({dtype}::MAX, {dtype}::MIN, 0)
                    by |(a, b, c), (d, e, f)| (a.min(d), b.max(e), c ^ f);
            }}"
        );
        for schedule in ["", WITHIN[0], RFACTOR[1]] {
            let variant = variant(&kernel, &format!("V: ends for p {{ {schedule} }}"), &profiles()[0]);
            sizes.iter().for_each(|dims| variant.check(dims, &[]));
        }
    }
    let bools = "fn odd<N, K>(x: f16[N, K]) -> (odd: bool[N], some: bool[N], most: f16[N]) {
        (odd[i], some[i], most[i]) = reduce(k in 0..K) { let v = x[i, k]; (v > 0.5, v > 0.9, v) } from (false, false, f16::NEG_INFINITY)
            by |(a, b, v), (c, d, w)| (a ^ c, b || d, v.max(w));
    }";
    for schedule in ["", WITHIN[1], RFACTOR[3]] {
        check(bools, &format!("V: odd for p {{ {schedule} }}"), &sizes);
    }
}

/// A state of one component, a condition, and functions and scalars in the combiner.
#[test]
fn one_component() {
    let kernel = "fn join(a: f32, b: f32, s: f32) -> f32 { a + b + s * a * b }
    fn whole<N, K>(x: f32[N, K], s: f32) -> y: f32[N] {
        y[i] = 1.0 + 2.0 * { let all = reduce(k in 0..K) where k != 3 { x[i, k] / 64.0 } from 0.0 by |a, b| join(a, b, s); all };
    }";
    for (n, directives) in ALONE.iter().chain(&WITHIN).chain(&RFACTOR).enumerate() {
        let variant = variant(kernel, &format!("V: whole for p {{ {directives} }}"), &profiles()[n % 2]);
        for (rows, columns) in [(1, 1), (7, 130), (2, 0)] {
            variant.check(&[("N", rows), ("K", columns)], &[0.5]);
        }
    }
}

/// With another reduction in the definition, the components are intermediates. One dispatch computes all of them.
#[test]
fn beside_another_reduction() {
    let kernel = "fn spread<N, K>(x: f32[N, K]) -> y: f32[N, K] {
        y[i, j] = {
            let (least, most) = reduce(k in 0..K) { (x[i, k], x[i, k]) } from (f32::INFINITY, f32::NEG_INFINITY)
                by |(a, b), (c, d)| (a.min(c), b.max(d));
            (x[i, j] - least) / (most - least + 1.0) + sum(k in 0..K) { x[i, k] }
        };
    }";
    assert_eq!(nest(kernel, "V: spread for p { root(y_reduce); root(y_sum); }").matches("dispatch ").count(), 3);
    let placed =
        "tile(i: 4) => workgroup(x); distribute(i => thread(y)); tile(j: 8 => j_o); distribute(j => thread(x)); serial(j_o);
        compute_at(y_sum, workgroup, to: shared);
        compute_at(y_reduce, workgroup, to: shared);";
    let registers = "tile(i: 4) => workgroup(x); distribute(i => thread(x)); serial(j);
        compute_at(y_sum, thread, to: register); compute_at(y_reduce, thread, to: register);";
    for schedule in ["", placed, registers] {
        let schedule = format!("V: spread for p {{ {schedule} }}");
        check(kernel, &schedule, &[&[("N", 5), ("K", 33)], &[("N", 1), ("K", 1)], &[("N", 3), ("K", 0)]]);
    }
}

/// Several results share a reduction that uses all of their axes. Another one is an intermediate on the axes that it uses.
#[test]
fn of_several_results() {
    let kernel = "fn rows<N, K>(x: f32[N, K]) -> (total: f32[N], mean: f32[N]) {
        (total[i], mean[i]) = { let s = sum(k in 0..K) { x[i, k] }; (s, s / (K as f32).max(1.0)) };
    }";
    assert_eq!(nest(kernel, "V: rows for p {}").matches("dispatch ").count(), 1);
    for (n, directives) in ALONE.iter().chain(&WITHIN).chain(&RFACTOR).enumerate() {
        let variant = variant(kernel, &format!("V: rows for p {{ {directives} }}"), &profiles()[n % 2]);
        variant.check(&[("N", 7), ("K", 130)], &[]);
    }
    let fewer = "fn centred<N, K>(x: f32[N, K]) -> (y: f32[N, K], z: f32[N, K]) {
        (y[i, j], z[i, j]) = { let s = sum(k in 0..K) { x[i, k] }; (x[i, j] - s, x[i, j] + s) };
    }";
    assert_eq!(nest(fewer, "V: centred for p { root(y_sum); }").matches("dispatch ").count(), 2);
    check(fewer, "V: centred for p {}", &[&[("N", 5), ("K", 33)], &[("N", 0), ("K", 3)]]);
}

/// A result that does not use the reduction comes first, and tensors are updated in place.
#[test]
fn values_without_the_reduction() {
    let kernel = "fn step<N, K>(x: f32[N, K], old: &mut f32[N], y: &mut f32[N]) -> z: f32[N] {
        (z[i], old[i], y[i]) = {
            let (least, most) = reduce(k in 0..K) { (x[i, k], x[i, k]) } from (f32::INFINITY, f32::NEG_INFINITY)
                by |(a, b), (c, d)| (a.min(c), b.max(d));
            (old[i], y[i], y[i] + least.min(most))
        };
    }";
    for directives in ALONE {
        check(kernel, &format!("V: step for p {{ {directives} }}"), &[&[("N", 9), ("K", 12)], &[("N", 1), ("K", 0)]]);
    }
}

/// The branches of an `if` can be several values.
#[test]
fn branches_of_several_values() {
    let kernel = "fn order<N>(a: f32[N], b: f32[N]) -> (low: f32[N], high: f32[N]) {
        (low[i], high[i]) = if a[i] < b[i] { (a[i], b[i]) } else if b[i] < 0.5 { let half = b[i] / 2.0; (half, a[i]) } else { (b[i], a[i]) };
    }";
    check(kernel, "V: order for p {}", &[&[("N", 70)], &[("N", 0)]]);
}

/// The intermediates of one reduction, stored, and placed where they are read, in each memory and by each strategy.
#[test]
fn intermediates() {
    let kernel = "fn normalize<N, K>(x: f32[N, K]) -> y: f32[N, K] {
        let (mean[i], power[i]): (f32[N], f32[N]) = {
            let (n, a, p) = reduce(k in 0..K) { (1.0, x[i, k], 0.0) } from (0.0, 0.0, 0.0) by |(n, a, p), (o, b, q)| {
                let all = (n + o).max(1.0);
                (n + o, (n * a + o * b) / all, p + q + (b - a) * (b - a) * n * o / all)
            };
            (a, p / n.max(1.0) + 1.0)
        };
        y[i, j] = (x[i, j] - mean[i]) / power[i].sqrt();
    }";
    let rows =
        "tile(i: 4) => workgroup(x); distribute(i => thread(y)); tile(j: 8 => j_o); distribute(j => thread(x)); serial(j_o);";
    let schedules = [
        "",
        "mean { tile(i: 8) => workgroup(x); distribute(i => thread(x)); }",
        &format!("mean {{ {} }}", WITHIN[2]),
        &format!("mean {{ {} }}", RFACTOR[0]),
        &format!("{rows} compute_at(mean, workgroup, to: shared);"),
        &format!("{rows} compute_at(mean, workgroup, to: shared); mean {{ tile(k: 8 => k_o); distribute(k => thread(x), by: tree); distribute(i => thread(y)); }}"),
        "tile(i: 4) => workgroup(x); distribute(i => thread(x)); serial(j); compute_at(mean, thread, to: register);",
        "distribute(i => workgroup(x)); tile(j: 32 => j_o); distribute(j => thread(x)); serial(j_o); compute_at(mean, workgroup, to: register);
            mean { tile(k: 32 => k_o); distribute(k => thread(x), by: subgroup); }",
    ];
    for (n, directives) in schedules.iter().enumerate() {
        let variant = variant(kernel, &format!("V: normalize for p {{ {directives} }}"), &profiles()[n % 2]);
        for (rows, columns) in [(1, 1), (7, 130), (2, 0), (0, 5)] {
            variant.check(&[("N", rows), ("K", columns)], &[]);
        }
    }
}

/// Members of families, and a `let` of two tensors, one of them unread.
#[test]
fn families() {
    let kernel = "fn levels<N>(x: f32[N]) -> y: f32[N >> 2] where N >= 4 {
        let low[0][i]: f32[N] = x[i];
        for l in 1..3 {
            let (low[l][i], high[l][i]): (f32[N >> l], f32[N >> l]) = reduce(k in 0..2) { (low[l - 1][2 * i + k], low[l - 1][2 * i + k]) }
                from (f32::INFINITY, f32::NEG_INFINITY) by |(a, b), (c, d)| (a.min(c), b.max(d));
        }
        y[i] = low[2][i] + high[2][i];
    }";
    for directives in ["", "low[1..] { tile(i: 8) => workgroup(x); distribute(i => thread(x)); }"] {
        check(kernel, &format!("V: levels for p {{ {directives} }}"), &[&[("N", 64)], &[("N", 7)], &[("N", 131)]]);
    }
}

/// A read in a `let` that several values share is proved once. The clamped read adds the fact `K >= 1`, which would prove it, too.
#[test]
fn a_read_has_one_proof() {
    let kernel = "fn once<>(x: f32[K], K: dim) -> y: f32[] {
        y[] = {
            let (a, b) = reduce(k in 0..1) { let v = if 1 < K { x[k] } else { x.clamp()[1] }; (v, v) } from (0.0, 0.0)
                by |(a2, b2), (a3, b3)| (a2 + a3, b2.max(b3));
            a + b
        };
    }";
    check(kernel, "V: once for p {}", &[&[("K", 1)], &[("K", 2)]]);
}
