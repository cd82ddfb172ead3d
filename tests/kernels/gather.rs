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
                // Indices far outside are clamped, those beyond 32 bits of elements too.
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
