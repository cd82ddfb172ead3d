//! Rows distributed across the registers of a workgroup's invocations, at sizes that fill them and at others.

use crate::harness::variant;
use tilewright_dsl::profile::Profile;

const SOFTMAX: &str = "fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let largest[i]: f32[R] = max(k in 0..C) { x[i, k] };
    let total[i]: f32[R] = sum(k in 0..C) { (x[i, k] - largest[i]).exp() };
    y[i, j] = (x[i, j] - largest[i]).exp() * (1.0 / total[i]);
}";

const LAYERNORM: &str = "fn layernorm<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let mean[i]: f32[R] = sum(k in 0..C) { x[i, k] } / C as f32;
    let variance[i]: f32[R] = sum(k in 0..C) { let d = x[i, k] - mean[i]; d * d } / C as f32;
    y[i, j] = (x[i, j] - mean[i]) * (variance[i] + 1e-5).rsqrt();
}";

/// The exponentials are an intermediate.
const POWERS: &str = "fn powers<R, C>(x: f32[R, C]) -> y: f32[R, C] {
    let largest[i]: f32[R] = max(k in 0..C) { x[i, k] };
    let e[i, j]: f32[R, C] = (x[i, j] - largest[i]).exp();
    let total[i]: f32[R] = sum(k in 0..C) { e[i, k] };
    y[i, j] = e[i, j] / total[i];
}";

fn check(kernel: &str, schedule: &str, sizes: &[(i64, i64)]) {
    let mut descriptors = Profile::mesa_lavapipe();
    descriptors.features.remove(&tilewright_dsl::launch::Feature::Address);
    for profile in [Profile::mesa_lavapipe(), descriptors] {
        let variant = variant(kernel, schedule, &profile);
        sizes.iter().for_each(|(r, c)| variant.check(&[("R", *r), ("C", *c)], &[]));
    }
}

/// The loops of the host, the copy, and the reductions, for a row split into these parts: `r, t, v`.
fn row(parts: &str, reductions: &str, by: &str) -> String {
    let [first, second] = reductions.split(", ").collect::<Vec<_>>()[..] else { panic!("two reductions") };
    format!(
        "tile(i: 1) => workgroup(x); split(j, {parts} => j_r, j_t, j_v); distribute(j_t => thread(x)); unroll(j_r, j_v);
         compute_at({second}, workgroup, to: register); compute_at({first}, workgroup, to: register);
         promote(x => x_r, at: workgroup, to: register);
         x_r {{ split(j, {parts} => r, t, v); distribute(t => thread(x)); unroll(r, v); }}
         {reductions} {{ split(k, {parts} => k_r, k_t, k_v); distribute(k_t => thread(x), by: {by}); unroll(k_r, k_v); }}"
    )
}

#[test]
fn whole_rows() {
    for (kernel, name, reductions) in [(SOFTMAX, "softmax", "largest, total"), (LAYERNORM, "layernorm", "mean, variance")] {
        for (parts, by) in [("[2, 64, 4]", "tree"), ("[4, 32, 4]", "subgroup"), ("[1, 128, 4]", "subgroup"), ("[8, 64, 1]", "tree")]
        {
            let schedule = format!("V: {name} for p where C == 512 {{ {} }}", row(parts, reductions, by));
            check(kernel, &schedule, &[(1, 512), (7, 512)]);
        }
    }
}

#[test]
fn whole_rows_in_vectors() {
    let schedule = "V: softmax for p where C == 4096 {
        tile(i: 1) => workgroup(x); split(j, [4, 256, 4] => j_r, j_t, j); distribute(j_t => thread(x)); unroll(j_r); vectorize(j, 4);
        compute_at(total, workgroup, to: register); compute_at(largest, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [4, 256, 4] => r, t, v); distribute(t => thread(x)); unroll(r); vectorize(v, 4); }
        largest, total { split(k, [4, 256, 4] => k_r, k_t, k); distribute(k_t => thread(x), by: subgroup); unroll(k_r, k); }
    }";
    check(SOFTMAX, schedule, &[(1, 4096), (3, 4096)]);
}

/// In rows up to a bound, elements past the end affect nothing.
#[test]
fn rows_up_to_a_bound() {
    for (kernel, name, reductions) in [(SOFTMAX, "softmax", "largest, total"), (LAYERNORM, "layernorm", "mean, variance")] {
        for (parts, by) in [("[2, 32, 4]", "tree"), ("[8, 32, 1]", "subgroup"), ("[1, 32, 8]", "tree")] {
            let schedule = format!("V: {name} for p where C <= 256 {{ {} }}", row(parts, reductions, by));
            check(kernel, &schedule, &[(1, 1), (3, 31), (2, 97), (5, 255), (2, 256)]);
        }
    }
}

/// A computed row is distributed as a copy is. It reads a copy.
#[test]
fn a_row_that_is_computed() {
    for (fact, sizes) in [("C == 256", &[(1, 256), (5, 256)][..]), ("C <= 256", &[(1, 1), (3, 129), (2, 255)][..])] {
        let schedule = format!(
            "V: powers for p where {fact} {{
                tile(i: 1) => workgroup(x); split(j, [4, 64] => j_r, j_t); distribute(j_t => thread(x)); unroll(j_r);
                compute_at(total, workgroup, to: register); compute_at(e, workgroup, to: register);
                compute_at(largest, workgroup, to: register);
                promote(x => x_r, at: workgroup, to: register);
                x_r {{ split(k, [4, 64] => r, t); distribute(t => thread(x)); unroll(r); }}
                e {{ split(j, [4, 64] => r, t); distribute(t => thread(x)); unroll(r); }}
                largest, total {{ split(k, [4, 64] => k_r, k_t); distribute(k_t => thread(x), by: tree); unroll(k_r); }}
            }}"
        );
        check(POWERS, &schedule, sizes);
    }
}

/// Several rows per workgroup, each with its own invocations, so two dimensions have owners.
#[test]
fn several_rows() {
    let schedule = "V: softmax for p where C <= 64 {
        tile(i: 4) => workgroup(x); distribute(i => thread(y)); split(j, [4, 16] => j_r, j_t); distribute(j_t => thread(x)); unroll(j_r);
        compute_at(total, workgroup, to: shared); compute_at(largest, workgroup, to: shared);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [4, 16] => r, t); distribute(i, t => thread(y, x)); unroll(r); }
        largest, total { split(k, [4, 16] => k_r, k_t); distribute(i => thread(y)); distribute(k_t => thread(x), by: tree); unroll(k_r); }
    }";
    check(SOFTMAX, schedule, &[(1, 1), (4, 64), (7, 63), (9, 17)]);
}

/// One row after another, and consecutive elements in each invocation.
#[test]
fn rows_in_a_loop() {
    let schedule = "V: softmax for p where C == 128 {
        tile(i: 4 => i_o); distribute(i_o => workgroup(x)); split(j, [32, 4] => j_t, j_v); distribute(j_t => thread(x)); serial(i); unroll(j_v);
        compute_at(total, i, to: register); compute_at(largest, i, to: register);
        promote(x => x_r, at: i, to: register);
        x_r { split(j, [32, 4] => t, v); distribute(t => thread(x)); unroll(v); }
        largest, total { split(k, [32, 4] => k_t, k_v); distribute(k_t => thread(x), by: subgroup); unroll(k_v); }
    }";
    check(SOFTMAX, schedule, &[(1, 128), (6, 128), (9, 128)]);
}

/// Adjacent elements lie in different invocations' registers, while the elements of another row lie in the same invocation's.
#[test]
fn rows_of_other_axes() {
    let kernel = "fn differences<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let s[i]: f32[R] = sum(k in 0..C) { x[i, k] };
        y[i, j] = s[i] * x[i, j] + x[i, j];
    }";
    let schedule = "V: differences for p where R <= 1000, C == 64 {
        tile(i: 2) => workgroup(x); distribute(j => thread(x)); unroll(i);
        compute_at(s, workgroup, to: shared);
        promote(x => x_r, at: workgroup, to: register);
        x_r { distribute(j => thread(x)); unroll(i); }
        s { distribute(k => thread(x), by: tree); unroll(i); }
    }";
    let profile = Profile::mesa_lavapipe();
    let variant = variant(kernel, schedule, &profile);
    for r in [1, 2, 5] {
        variant.check(&[("R", r), ("C", 64)], &[]);
    }
}

/// Subgroups and their lanes each own a dimension.
#[test]
fn rows_of_subgroups() {
    let schedule = "V: softmax for p where C <= 96 {
        tile(i: 1) => workgroup(x);
        split(j, [3, 4, 8] => j_r, j_s, j_l); distribute(j_s => subgroup(x)); distribute(j_l => lane(x)); unroll(j_r);
        compute_at(total, workgroup, to: register); compute_at(largest, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [3, 4, 8] => r, s, l); distribute(s => subgroup(x)); distribute(l => lane(x)); unroll(r); }
        largest, total {
            split(k, [3, 4, 8] => k_r, k_s, k_l); unroll(k_r);
            distribute(k_s => subgroup(x), by: subgroup); distribute(k_l => lane(x), by: subgroup);
        }
    }";
    check(SOFTMAX, schedule, &[(1, 1), (3, 96), (5, 71)]);
}

/// Each invocation reduces its own elements, and these need a row that all invocations have.
#[test]
fn elements_that_are_reduced() {
    let kernel = "fn project<N, M, K>(a: f32[N, K], b: f32[K, M]) -> y: f32[N, M] {
        let p[i, j]: f32[N, M] = sum(k in 0..K) { a[i, k] * b[k, j] };
        let q[i]: f32[N] = sum(j in 0..M) { p[i, j] };
        y[i, j] = p[i, j] * q[i];
    }";
    let schedule = "V: project for p where M <= 96 {
        tile(i: 1) => workgroup(x); split(j, [3, 32] => j_r, j_t); distribute(j_t => thread(x)); unroll(j_r);
        compute_at(q, workgroup, to: register); compute_at(p, workgroup, to: register);
        p { split(j, [3, 32] => r, t); distribute(t => thread(x)); unroll(r); reorder(k, r); }
        q { split(j, [3, 32] => r, t); distribute(t => thread(x), by: subgroup); unroll(r); }
    }";
    let variant = variant(kernel, schedule, &Profile::mesa_lavapipe());
    for (n, m, k) in [(1, 1, 1), (3, 96, 17), (2, 50, 5), (2, 33, 0)] {
        variant.check(&[("N", n), ("M", m), ("K", k)], &[]);
    }
}
