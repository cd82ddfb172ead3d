//! Indices that reductions compare: the positions of `argmin` and `argmax`, and operands of `min` and `max`. They fit 32 bits, or
//! the launch is refused, for any schedule.

use crate::harness::{of_subgroups, profiles, refused, variant};

const PAIR: &str = "fn k<A, B>(x: f32[A], y: f32[B]) -> (p: i32[], v: f32[]) where A >= 1, B >= 1 {
    p[] = argmax(a in 0..A, b in 0..B) { x[a] + y[b] };
    v[] = x[p[] / B] + y[p[] % B];
}";

/// Checks that a kernel is right at `right`, taken at `most`, and refused at `beyond`.
fn bounded(kernel: &str, schedule: &str, right: &[(&str, i64)], most: &[(&str, i64)], beyond: &[&[(&str, i64)]], why: &str) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        variant.check(right, &[]);
        variant.taken(most);
        for refusal in beyond.iter().flat_map(|dims| variant.refusals(dims)) {
            assert!(refusal.contains(why), "{refusal}");
        }
    }
}

#[test]
fn positions_end_below_the_highest_index_under_every_schedule() {
    let schedules = [
        "{}",
        "{ p { tile(b: 64 => b_o); distribute(b => thread(x), by: tree); } }",
        "{ p { tile(b: 4 => b_o); unroll(b); } }",
        "{ p { fuse(a, b => ab); tile(ab: 64 => ab_o); distribute(ab => thread(x), by: tree); } }",
        "{ p { tile(a: 8 => a_o); rfactor(a_o => p_part); } p_part { distribute(a_o => workgroup(x)); } }",
    ];
    let beyond: [&[(&str, i64)]; 3] =
        [&[("A", 65_536), ("B", 32_768)], &[("A", 65_536), ("B", 32_769)], &[("A", 65_536), ("B", 65_536)]];
    for schedule in schedules {
        let schedule = format!("V: k for p {schedule}");
        let most = [("A", 65_536), ("B", 32_767)];
        bounded(PAIR, &schedule, &[("A", 37), ("B", 70)], &most, &beyond, "`A * B` can be ");
    }
}

#[test]
fn positions_across_a_subgroup_end_there_too() {
    let schedule = "V: k for p { p { tile(b: 8 => b_o); distribute(b => lane(x), by: subgroup); } }";
    let variant = variant(PAIR, schedule, &of_subgroups(8));
    variant.check(&[("A", 37), ("B", 70)], &[]);
    variant.taken(&[("A", 65_536), ("B", 32_767)]);
    for refusal in variant.refusals(&[("A", 65_536), ("B", 32_768)]) {
        assert!(refusal.contains("`A * B` can be 2147483648"), "{refusal}");
    }
}

#[test]
fn positions_of_placed_stages_fit_too() {
    let kernel = "fn k<N, A, B>(x: f32[N, A], y: f32[B]) -> v: f32[N] where A >= 1, B >= 1 {
        let p[i]: i32[N] = argmin(a in 0..A, b in 0..B) { x[i, a] - y[b] };
        v[i] = x[i, p[i] / B] + y[p[i] % B];
    }";
    for schedule in [
        "V: k for p {}",
        "V: k for p { tile(i: 4) => workgroup(x); distribute(i => thread(x)); compute_at(p, workgroup, to: shared); }",
    ] {
        let right = [("N", 9), ("A", 7), ("B", 11)];
        let most = [("N", 1), ("A", 65_536), ("B", 32_767)];
        bounded(kernel, schedule, &right, &most, &[&[("N", 1), ("A", 65_536), ("B", 32_768)]], "`A * B` can be 2147483648");
    }
}

#[test]
fn a_range_ends_below_the_highest_index() {
    let schedule = "V: k for p {}";
    let (right, most) = ([("A", 7), ("B", 11)], [("A", 65_536), ("B", 32_766)]);
    let beyond: [&[(&str, i64)]; 1] = [&[("A", 65_536), ("B", 32_768)]];
    let kernel =
        |reduction: &str| format!("fn k<A, B>(x: f32[A], y: f32[B]) -> p: i32[] where A >= 1, B >= 1 {{ p[] = {reduction}; }}");
    let one = kernel("argmax(k in 0..A * B) { x[k / B] + y[k % B] }");
    bounded(&one, schedule, &right, &most, &beyond, "`A * B` can be 2147483648");
    let shifted = kernel("argmax(k in A * B..A * B + B) { y[k - A * B] }");
    bounded(&shifted, schedule, &right, &most, &beyond, "`A * B` can be 2147483648");
    bounded(&shifted, schedule, &right, &most, &[&[("A", 65_535), ("B", 32_768)]], "`A * B + B` can be 2147483648");
    let below = kernel("argmin(k in 3 - A * B..5) { y.clamp()[k] }");
    bounded(&below, schedule, &right, &[("A", 65_536), ("B", 32_767)], &[&[("A", 65_536), ("B", 32_769)]], "`3 - A * B` can be ");
}

#[test]
fn ranges_that_depend_on_axes_count_at_their_longest() {
    let kernel = "fn k<N, A>(x: f32[N], y: f32[A]) -> p: i32[N] where A >= 1 {
        p[i] = argmax(a in 0..A, b in 0..i + 1) { x[b] * y[a] };
    }";
    let right = [("N", 12), ("A", 5)];
    let beyond: [&[(&str, i64)]; 1] = [&[("N", 32_768), ("A", 65_536)]];
    bounded(kernel, "V: k for p {}", &right, &[("N", 32_767), ("A", 65_536)], &beyond, "`A * (i + 1)` can be 2147483648");
}

#[test]
fn indices_that_min_and_max_reduce_fit() {
    let kernel = |item: &str| format!("fn k<A, B>(x: f32[A], y: f32[B]) -> m: i32[] {{ m[] = {item}; }}");
    let (right, most) = ([("A", 7), ("B", 11)], [("A", 65_536), ("B", 32_768)]);
    let beyond: [&[(&str, i64)]; 1] = [&[("A", 65_537), ("B", 32_769)]];
    let largest = kernel("max(a in 0..A, b in 0..B) { if x[a] > y[b] { a * B + b } else { 0 } }");
    for schedule in [
        "V: k for p { reorder(a, b); }",
        "V: k for p { m { distribute(a => workgroup(x), by: atomic); } }",
        "V: k for p { m { tile(b: 32 => b_o); distribute(b_o => workgroup(x), by: atomic); distribute(b => thread(x), by: tree); } }",
    ] {
        bounded(&largest, schedule, &right, &most, &beyond, "can be ");
    }
    let least = kernel("min(a in 0..A, b in 0..B) { 7 - a * B - b }");
    bounded(&least, "V: k for p { reorder(a, b); }", &right, &most, &beyond, "can be -");
    let best = kernel("argmax(a in 0..A) { (a * B - 1) * 3 }").replace("{ m[]", "where A >= 1 { m[]");
    bounded(&best, "V: k for p { reorder(a); }", &right, &[("A", 21_845), ("B", 32_768)], &beyond, "can be ");
    // Data wraps, and sums of indices are data.
    for wraps in ["max(a in 0..A, b in 0..B) { (a * B + b) as i32 }", "sum(a in 0..A, b in 0..B) { a * B + b }"] {
        for profile in profiles() {
            let variant = variant(&kernel(wraps), "V: k for p { reorder(a, b); }", &profile);
            variant.check(&right, &[]);
            variant.taken(&[("A", 65_537), ("B", 32_769)]);
        }
    }
}

#[test]
fn positions_that_an_input_counts_need_no_check() {
    let kernels = [
        (
            "fn k<N, A, B>(x: f32[N, A, B]) -> p: i32[N] where A >= 1, B >= 1 { p[i] = argmax(a in 0..A, b in 0..B) { x[i, a, b] }; }",
            "a, b",
        ),
        (
            "fn k<A, B>(x: f32[A], y: f32[B]) -> p: i32[] where A >= 1, B >= 1, A * B <= 2147483647 {
                p[] = argmax(a in 0..A, b in 0..B) { x[a] + y[b] };
            }",
            "a, b",
        ),
        ("fn k<A>(x: f32[A]) -> p: i32[] where A >= 1 { p[] = argmax(a in 0..A) { x[a] }; }", "a"),
    ];
    for (kernel, axes) in kernels {
        let first = if kernel.contains("[N]") { "distribute(i => workgroup(x)); " } else { "" };
        for profile in profiles() {
            assert_eq!(variant(kernel, &format!("V: k for p {{ {first}reorder({axes}); }}"), &profile).program.limits, []);
        }
    }
    // Without elements in `x`, `A` and `B` are not bounded by its number of elements.
    let kernel = "fn k<N, A, B>(x: f32[N, A, B], y: f32[A], z: f32[B]) -> p: i32[] where A >= 1, B >= 1 {
        p[] = argmax(a in 0..A, b in 0..B) { y[a] + z[b] };
    }";
    bounded(
        kernel,
        "V: k for p { reorder(a, b); }",
        &[("N", 2), ("A", 3), ("B", 4)],
        &[("N", 0), ("A", 65_536), ("B", 32_767)],
        &[&[("N", 0), ("A", 65_536), ("B", 32_768)]],
        "`A * B` can be 2147483648",
    );
}

#[test]
fn positions_beyond_32_bits_at_all_sizes_are_an_error() {
    let kernel = "fn k(x: f32[65536]) -> p: i32[] { p[] = argmax(a in 0..65536, b in 0..32768) { x[a] + x[b] }; }";
    refused(kernel, "V: k for p {}", "can be 2147483648, and indices have 32 bits");
}
