//! Scores that are -inf beyond a row's range, instead of masks in all their readers: `decompose_online(…, mask: s)`.

use crate::harness::{check, profiles, variant};
use crate::matrices::fragment::variants_on;
use tilewright_dsl::launch::Feature;
use tilewright_dsl::profile::Profile;

/// Scores of integers are finite for all values.
const CAUSAL: &str = "fn causal<B, N, D, E>(q: i32[B, N, D], k: i32[B, N, D], v: f32[B, N, E], scale: f32) -> o: f32[B, N, E] {
    let s[b, i, j]: f32[B, N, N] = sum(d in 0..D) { q[b, i, d] as f32 * k[b, j, d] as f32 };
    let m[b, i]: f32[B, N] = max(j in 0..i + 1) { s[b, i, j] };
    let p[b, i, j]: f32[B, N, N] = s[b, i, j].mul_add(scale, -m[b, i] * scale).exp();
    let l[b, i]: f32[B, N] = sum(j in 0..i + 1) { p[b, i, j] };
    o[b, i, e] = sum(j in 0..i + 1) { p[b, i, j] * v[b, j, e] } / l[b, i];
}";

const FACTS: &str = "N % 16 == 0, D <= 64, finite(v), scale > 1e-6, scale < 1e6";

const SIZES: [[(&str, i64); 4]; 3] = [
    [("B", 2), ("N", 16), ("D", 3), ("E", 16)],
    [("B", 1), ("N", 48), ("D", 16), ("E", 16)],
    [("B", 1), ("N", 0), ("D", 16), ("E", 16)],
];

fn at_all_scales(schedule: &str) {
    for profile in profiles() {
        let variant = variant(CAUSAL, schedule, &profile);
        for (dims, scale) in SIZES.iter().zip([0.25, 2e-6, 999.0]) {
            variant.check(dims, &[scale]);
        }
    }
}

#[test]
fn scores_in_memory() {
    at_all_scales(&format!("V: causal for p where {FACTS} {{ decompose_online(m, l, o => m_b, l_b, o_b, block: 16, mask: s); }}"));
}

#[test]
fn scores_in_shared_memory() {
    at_all_scales(&format!(
        "V: causal for p where E == 16, {FACTS} {{
            decompose_online(m, l, o => m_b, l_b, o_b, block: 16, mask: s);
            tile(b: 1, i: 16) => workgroup(y, x);
            reorder(j_o, i, e);
            tile(i: 4, e: 4) => thread(y, x);
            unroll(i, e);
            serial(j_o);
            compute_at(o_b, j_o, to: register);
            compute_at(l_b, j_o, to: shared);
            compute_at(p, j_o, to: shared);
            compute_at(m_b, j_o, to: shared);
            compute_at(s, j_o, to: shared);
            o_b {{ reorder(j, i, e); unroll(i, e); }}
            s {{ tile(i: 4, j: 4) => thread(y, x); reorder(d, i, j); unroll(i, j); }}
        }}"
    ));
}

/// Scores that are not sums, and a sum that reads them directly.
#[test]
fn scores_of_one_element() {
    let kernel = "fn k<R, C>(x: i32[R, C]) -> l: f32[R] {
        let s[i, j]: f32[R, C] = x[i, j] as f32 * 0.5;
        let m[i]: f32[R] = max(j in 0..i + 1) { s.clamp()[i, j] };
        l[i] = (sum(j in 0..i + 1) { (s.clamp()[i, j] - m[i]).exp() }).ln() + m[i];
    }";
    let kernel = kernel.replace("<R, C>", "<R>").replace("[R, C]", "[R, R]").replace(".clamp()", "");
    let schedule = "V: k for p where R % 8 == 0 { decompose_online(m, l => m_b, l_b, block: 8, mask: s); }";
    check(&kernel, schedule, &[&[("R", 8)], &[("R", 40)]]);
}

/// The error of a launch about a scalar that violates the facts, and the variants that it takes instead.
#[test]
fn scales_that_are_refused() {
    let kernel = "fn k<N>(x: f32[N], scale: f32) -> y: f32[N] where scale < 8.0 { y[i] = x[i] * scale; }";
    for profile in profiles() {
        let bounded = variant(kernel, "V: k for p where 1e-6 < scale, scale != 3.0 {}", &profile);
        bounded.check(&[("N", 5)], &[7.5]);
        let refused = |scale: f32| bounded.refusals_of(&[("N", 5)], scale).into_iter();
        let said = |fact: &str| format!("`k`: no variant takes these arguments\n  `V`: `{fact} does not hold for scale = ");
        for (scale, fact) in [(0.0, "scale > 1e-6`"), (-2.5, "scale > 1e-6`"), (3.0, "scale != 3.0`")] {
            refused(scale).for_each(|refusal| assert_eq!(refusal, format!("{}{scale:?}", said(fact))));
        }
        for scale in [8.0, f32::INFINITY, f32::NAN] {
            refused(scale).for_each(|refusal| assert_eq!(refusal, format!("`k` needs `scale < 8.0`; scale is {scale:?}")));
        }
    }
    // The factor of scores must not be below 0.
    let decomposed = variant(CAUSAL, "V: causal for p { decompose_online(m, l, o); }", &profiles()[0]);
    for refusal in decomposed.refusals_of(&SIZES[0], -1.25f32) {
        let why = "`scale >= 0.0` does not hold for scale = -1.25";
        assert_eq!(refusal, format!("`causal`: no variant takes these arguments\n  `V`: {why}"));
    }
    let versions = variant(kernel, "V: k for p { specialize(scale > 1.0); serial(i); }", &profiles()[0]);
    assert!(versions.taken_with(&[("N", 5)], 2.0f32).iter().all(|name| name == "V"), "a version that changes nothing is left out");
}

/// A version under bounds of a scalar does not select for a maximum of -inf, and is taken if the bounds hold.
#[test]
fn versions_under_bounds() {
    let schedule = "V: causal for p where finite(v) { specialize(scale > 1e-6, scale < 1e6); decompose_online(m, l, o); }";
    let variant = variant(CAUSAL, schedule, &profiles()[0]);
    let dims = &SIZES[0];
    for (scale, name) in [(2.0f32, "V where scale > 1e-6, scale < 1000000.0"), (2e6, "V")] {
        assert!(variant.taken_with(dims, scale).iter().all(|taken| taken == name), "{:?}", variant.taken_with(dims, scale));
    }
    variant.check(dims, &[0.25]);
}

/// A subgroup's matrices across the diagonal, before it, and completely beyond it.
#[test]
fn scores_in_fragments() {
    let kernel =
        "fn causal<B, N, D, E>(query: f16[B, N, D], key: f16[B, N, D], value: f16[B, N, E], scale: f32) -> output: f16[B, N, E] {
        let product[b, i, j]: f32[B, N, N] = sum(d in 0..D) { query[b, i, d] as f32 * key[b, j, d] as f32 };
        let largest[b, i]: f32[B, N] = max(j in 0..i + 1) { product[b, i, j] };
        let weight[b, i, j]: f32[B, N, N] = {
            let factor = scale * 1.442695;
            product[b, i, j].mul_add(factor, -largest[b, i] * factor).exp2()
        };
        let rounded[b, i, j]: f16[B, N, N] = weight[b, i, j] as f16;
        let total[b, i]: f32[B, N] = sum(j in 0..i + 1) { weight[b, i, j] };
        output[b, i, e] = (sum(j in 0..i + 1) { rounded[b, i, j] as f32 * value[b, j, e] as f32 } / total[b, i]) as f16;
    }";
    let schedule = "V: causal for p where D == 32, E == 16, N % 64 == 0, finite(query), finite(key), finite(value), scale > 1e-6, scale < 1e6 {
        decompose_online(largest, total, output => m_b, l_b, o_b, block: 32, mask: product);
        tile(b: 1, i: 64) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 16) => subgroup(x);
        serial(j_o);
        compute_at(o_b, j_o, to: fragment);
        compute_at(l_b, j_o, to: fragment);
        compute_at(rounded, j_o, to: ROUNDED);
        compute_at(weight, j_o, to: fragment);
        compute_at(m_b, j_o, to: fragment);
        compute_at(product, j_o, to: fragment);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, SHAPE); unroll(d); }
        m_b, l_b { tile(i: 16) => subgroup(x); fragment(i, j, SIDES, by: WAY); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, SIDES); }
        o_b { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, SHAPE); unroll(j); }
        fragment(i, e, SIDES);
    }";
    let reduces = |profile: &Profile| profile.has(Feature::MatrixReductions);
    for (way, rounded) in [("shared", "shared, row_pad: 8"), ("matrix", "fragment")] {
        let schedule = schedule.replace("WAY", way).replace("ROUNDED", rounded);
        for variant in variants_on(kernel, &schedule, |profile| way == "shared" || reduces(profile)) {
            for ((b, n), scale) in [(1, 64), (2, 128), (1, 192)].into_iter().zip([0.25, 2e-6, 16.0]) {
                variant.check(&[("B", b), ("N", n), ("D", 32), ("E", 16)], &[scale]);
            }
        }
    }
}
