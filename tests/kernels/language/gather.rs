//! Indices that depend on data.

use crate::harness::{Fill, profiles, variant};

#[test]
fn embedding_lookup() {
    let kernel = "fn embedding<V, D, N>(table: f32[V, D], ids: i32[N]) -> y: f32[N, D] {
        y[n, d] = table.clamp()[ids[n], d];
    }";
    for profile in profiles() {
        for schedule in [
            "V: embedding for p {}",
            "V: embedding for p where D % 4 == 0 { tile(n: 8, d: 16) => workgroup(y, x); tile(d: 4) => thread(x); distribute(n => thread(y)); vectorize(d, 4); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (v, d, n) in [(1, 4, 1), (7, 8, 13), (130, 12, 3)] {
                variant.check_filled(&[("V", v), ("D", d), ("N", n)], &[], &|name| {
                    if name == "ids" { Fill::Below(v) } else { Fill::Small }
                });
                // Indices far out of bounds are clamped, including those beyond 32 bits of elements.
                variant.check_filled(&[("V", v), ("D", d), ("N", n)], &[], &|name| {
                    if name == "ids" { Fill::Wild } else { Fill::Small }
                });
            }
        }
    }
}

#[test]
fn padded_gather_in_a_reduction() {
    let kernel = "fn bag<V, D, N, K>(table: f32[V, D], ids: i32[N, K]) -> y: f32[N, D] {
        y[n, d] = sum(k in 0..K) { table.pad(0.0)[ids[n, k] - 3, d] };
    }";
    for profile in profiles() {
        let variant = variant(
            kernel,
            "V: bag for p { tile(n: 4, d: 8) => workgroup(y, x); distribute(n, d => thread(y, x)); tile(k: 3); unroll(k); }",
            &profile,
        );
        for (v, d, n, k) in [(1, 1, 1, 1), (7, 5, 13, 4), (31, 3, 3, 7)] {
            variant.check_filled(&[("V", v), ("D", d), ("N", n), ("K", k)], &[], &|name| {
                if name == "ids" { Fill::Below(v + 6) } else { Fill::Small }
            });
        }
    }
}

/// Indices from data, kept in bounds by conditions on it: for wild data, the other value is used.
#[test]
fn reads_under_conditions_on_data() {
    let kernels = [
        // Conditions on both sides, as users write them. For an empty tensor, the other value is used.
        "fn k<V, N>(x: f32[V], ids: i32[N]) -> y: f32[N] {
            y[i] = { let k = ids[i]; if 0 <= k && k < V { x[k] } else { 0.5 } };
        }",
        // Neighbours: sums of data that are proved not to wrap.
        "fn k<V, N>(x: f32[V], ids: i32[N]) -> y: f32[N] {
            y[i] = { let k = ids[i]; if k > 0 && k < V - 1 { x[k - 1] - 2.0 * x[k] + x[k + 1] } else { -1.0 } };
        }",
        // A condition on the sum itself, which may wrap, and its negation.
        "fn k<V, N>(x: f32[V], ids: i32[N]) -> y: f32[N] {
            y[i] = if ids[i] + 3 < 0 || ids[i] + 3 >= V { 2.0 } else { x[ids[i] + 3] };
        }",
        // In a reduction, and with unsigned data.
        "fn k<V, N>(x: f32[V], ids: u32[N, 3]) -> y: f32[N] {
            y[i] = sum(j in 0..3) { if ids[i, j] < V as u32 { x[ids[i, j] as i32] } else { 0.25 } };
        }",
        // In bounds because of the index's own operations.
        "fn k<V, N>(x: f32[V, 8], ids: i32[N]) -> y: f32[N] where V >= 3 {
            let k[i]: i32[N] = ids[i].max(0).min(V - 3);
            y[i] = x[k[i] + 2, ids[i] & 7] * x[0, (ids[i] as u32).count_ones() as i32 / 5] + x[(ids[i] as u32 % V as u32) as i32, (ids[i] as u32 >> 29) as i32];
        }",
        // Floats become indices.
        "fn k<V, N>(x: f32[V], ids: i32[N]) -> y: f32[N] {
            y[i] = { let at = (ids[i] as f32 * 0.5).floor() as i32; if at >= 0 && at < V - 1 { x[at] + x[at + 1] } else { 0.0 } };
        }",
    ];
    let tiled = "V: k for p { tile(i: 4) => workgroup(x); distribute(i => thread(x)); }";
    for (kernel, profile) in kernels.into_iter().flat_map(|kernel| profiles().map(|profile| (kernel, profile))) {
        for schedule in ["V: k for p {}", tiled] {
            let variant = variant(kernel, schedule, &profile);
            let least = if kernel.contains("where V >= 3") { 3 } else { 0 };
            for (v, n) in [(least, 5), (3, 7), (13, 9)] {
                for fill in [Fill::Below(v.max(1) + 3), Fill::Wild] {
                    variant.check_filled(&[("V", v), ("N", n)], &[], &|name| if name == "ids" { fill } else { Fill::Small });
                }
            }
        }
    }
}

/// A scalar argument is data, too.
#[test]
fn a_row_that_the_caller_names() {
    let kernel = "fn k<V, N>(x: f32[V, N], row: i32) -> y: f32[N] { y[i] = if 0 <= row && row < V { x[row, i] } else { 0.0 }; }";
    for profile in profiles() {
        let variant = variant(kernel, "V: k for p {}", &profile);
        for row in [0.0, 4.0, 5.0, -1.0, 2147483647.0, -2147483648.0] {
            variant.check(&[("V", 5), ("N", 3)], &[row]);
        }
    }
}

/// The results of argmax and argmin are within their ranges.
#[test]
fn reads_where_argmax_found_something() {
    let kernels = [
        "fn k<N, V, D>(x: f32[N, V], t: f32[V, D]) -> y: f32[N, D] {
            let best[i]: i32[N] = argmax(v in 0..V) { x[i, v] };
            y[i, d] = t[best[i], d];
        }",
        // The row-major position of two ranges.
        "fn k<N, V, D>(x: f32[N, V, D], t: f32[V, D]) -> y: f32[N] {
            let best[i]: i32[N] = argmin(v in 0..V, d in 0..D) { x[i, v, d] };
            y[i] = t[best[i] / D, best[i] % D];
        }",
        // A range that an axis bounds, from 1 on, and an epilogue.
        "fn k<N, V, D>(x: i32[N, V], t: f32[N, D], z: f32[V]) -> y: f32[N, D] where V >= 2 {
            let best[i]: i32[N] = argmax(j in 0..i + 1) { z.clamp()[j] };
            let next[i]: i32[N] = argmin(v in 1..V) { x[i, v] } - 1;
            y[i, d] = t[best[i], d] + z[next[i]] * z[next[i] + 1] + t[best[best[i]], d];
        }",
    ];
    let tiled = "V: k for p { y { tile(i: 4) => workgroup(x); distribute(i => thread(x)); } }";
    for (kernel, profile) in kernels.into_iter().flat_map(|kernel| profiles().map(|profile| (kernel, profile))) {
        for schedule in ["V: k for p {}", tiled] {
            let rest = if kernel.contains("-> y: f32[N, D]") && schedule == tiled {
                schedule.replace("thread(x));", "thread(x)); serial(d);")
            } else {
                schedule.into()
            };
            let variant = variant(kernel, &rest, &profile);
            for (n, v, d) in [(1, 2, 1), (7, 5, 3), (9, 2, 4), (0, 3, 2)] {
                variant.check(&[("N", n), ("V", v), ("D", d)], &[]);
            }
        }
    }
}
