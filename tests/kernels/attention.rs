//! Causal attention, stage by stage.

use crate::harness::{profiles, variant};

const ATTENTION: &str = "fn attention<T: f32 | f16, B, N, D = 64>(query: T[B, N, D], key: T[B, N, D], value: T[B, N, D], scale: f32) -> o: f32[B, N, D] {
    let s[b, i, j]: f32[B, N, N] = scale * sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
    let m[b, i]: f32[B, N] = max(j in 0..i + 1) { s[b, i, j] };
    let p[b, i, j]: T[B, N, N] = (s[b, i, j] - m[b, i]).exp() as T;
    let l[b, i]: f32[B, N] = sum(j in 0..i + 1) { p[b, i, j] as f32 };
    o[b, i, e] = sum(j in 0..i + 1) { p[b, i, j] as f32 * value[b, j, e] as f32 } / l[b, i];
}";

#[test]
fn unfused() {
    for profile in profiles() {
        for schedule in [
            "V: attention<T = f32, D = 8> for p {}",
            "V: attention<T = f16, D = 8> for p {}",
            "V: attention<T = f32, D = 8> for p { tile(b: 1, i: 4, e: 8) => workgroup(z, y, x); tile(i: 2, e: 4) => thread(y, x); tile(j: 3); reorder(j_o, j, i, e); unroll(i); vectorize(e, 4); }",
        ] {
            let variant = variant(ATTENTION, schedule, &profile);
            for (b, n) in [(1, 1), (2, 3), (1, 17)] {
                variant.check(&[("B", b), ("N", n)], &[0.35]);
            }
        }
    }
}
