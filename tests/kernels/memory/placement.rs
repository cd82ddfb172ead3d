//! Intermediates in the places that a schedule gives them.

use crate::harness::{profiles, try_variant, variant};

const SOFTMAX: &str = "fn softmax<B, N>(x: f32[B, N]) -> y: f32[B, N] {
    let m[b]: f32[B] = max(j in 0..N) { x[b, j] };
    let e[b, j]: f32[B, N] = (x[b, j] - m[b]).exp();
    let s[b]: f32[B] = sum(j in 0..N) { e[b, j] };
    y[b, j] = e[b, j] / s[b];
}";

/// A chain of pointwise stages, where one is read at several places and outside of itself.
const CHAIN: &str = "fn chain<H, W>(x: f32[H, W], w: f32[3]) -> y: f32[H, W] {
    let a[i, j]: f32[H, W] = x[i, j] * 2.0 + w[0];
    let b[i, j]: f32[H, W] = a.pad(1.0)[i - 1, j] + a.clamp()[i, j + 1];
    y[i, j] = b[i, j] * b.pad(0.0)[i, j - 1];
}";

fn check(kernel: &str, schedule: &str, dispatches: usize, sizes: &[&[(&str, i64)]]) {
    for profile in profiles() {
        let variant = variant(kernel, schedule, &profile);
        assert_eq!(variant.program.dispatches.len(), dispatches, "{schedule}");
        sizes.iter().for_each(|dims| variant.check(dims, &[]));
    }
}

#[test]
fn roots() {
    let rows: [&[(&str, i64)]; 3] = [&[("B", 3), ("N", 130)], &[("B", 1), ("N", 1)], &[("B", 67), ("N", 5)]];
    check(SOFTMAX, "V: softmax for p {}", 1, &rows);
    check(SOFTMAX, "V: softmax for p { root(m, e); }", 3, &rows);
    check(SOFTMAX, "V: softmax for p { inline(e); }", 1, &rows);
    check(
        SOFTMAX,
        "V: softmax for p {
            root(e);
            e { tile(b: 1, j: 64) => workgroup(y, x); distribute(j => thread(x)); }
            s { distribute(b => workgroup(x)); tile(j: 4 peel); unroll(j); }
            tile(b: 4 peel, j: 16) => workgroup(y, x);
            distribute(b, j => thread(y, x));
        }",
        4,
        &rows,
    );
    let boxes: [&[(&str, i64)]; 3] = [&[("H", 7), ("W", 33)], &[("H", 1), ("W", 1)], &[("H", 64), ("W", 3)]];
    check(CHAIN, "V: chain for p {}", 1, &boxes);
    check(CHAIN, "V: chain for p { root(a); }", 2, &boxes);
    check(CHAIN, "V: chain for p { inline(a); root(b); }", 2, &boxes);
    check(CHAIN, "V: chain for p { root(a, b); }", 3, &boxes);
}

const LAYERNORM: &str = "fn layernorm<B, N>(x: f32[B, N], gain: f32[N], bias: f32[N]) -> y: f32[B, N] {
    let mean[b]: f32[B] = sum(j in 0..N) { x[b, j] } / (N as f32);
    let spread[b]: f32[B] = sum(j in 0..N) { (x[b, j] - mean[b]) * (x[b, j] - mean[b]) } / (N as f32);
    y[b, j] = (x[b, j] - mean[b]) / (spread[b] + 0.001).sqrt() * gain[j] + bias[j];
}";

#[test]
fn rows_in_one_dispatch() {
    let rows: [&[(&str, i64)]; 4] =
        [&[("B", 3), ("N", 130)], &[("B", 1), ("N", 1)], &[("B", 67), ("N", 5)], &[("B", 2), ("N", 257)]];
    for places in [
        "compute_at(m, workgroup, to: shared); compute_at(s, workgroup, to: shared);",
        "compute_at(m, workgroup, to: register); compute_at(s, workgroup, to: register);",
        "compute_at(m, j, to: register); compute_at(s, j, to: register);",
    ] {
        let text = format!(
            "V: softmax for p {{ tile(b: 1) => workgroup(y); tile(j: 64 => j_o); distribute(j => thread(x)); serial(j_o); {places} }}"
        );
        check(SOFTMAX, &text, 1, &rows);
    }
    for places in [
        "compute_at(mean, workgroup, to: shared); compute_at(spread, workgroup, to: shared);",
        "compute_at(mean, thread, to: register); compute_at(spread, thread, to: register);",
    ] {
        let text = format!(
            "V: layernorm for p {{ tile(b: 4) => workgroup(x); tile(j: 8 => j_o); distribute(b, j => thread(y, x)); serial(j_o); {places} }}"
        );
        check(LAYERNORM, &text, 1, &rows);
    }
}

/// A matrix product with a bias and a clamp: the epilogue is computed where the sum is.
const POINTWISE: &str = "fn pointwise<P, C, O>(x: f32[P, C], w: f32[C, O], bias: f32[O]) -> y: f32[P, O] {
    let c[p, o]: f32[P, O] = sum(k in 0..C) { x[p, k] * w[k, o] };
    y[p, o] = (c[p, o] + bias[o]).max(0.0).min(6.0);
}";

#[test]
fn an_epilogue_in_registers() {
    let sizes: [&[(&str, i64)]; 4] = [
        &[("P", 8), ("C", 4), ("O", 32)],
        &[("P", 7), ("C", 13), ("O", 33)],
        &[("P", 1), ("C", 1), ("O", 1)],
        &[("P", 130), ("C", 3), ("O", 5)],
    ];
    for block in ["c { reorder(k, p, o); unroll(p, o); }", "c { tile(k: 4 => k_o); reorder(k_o, k, p, o); unroll(k, p, o); }", ""] {
        let text = format!(
            "V: pointwise for p {{ tile(p: 8, o: 32) => workgroup(y, x); tile(p: 2, o: 4) => thread(y, x); unroll(p, o); compute_at(c, thread, to: register); {block} }}"
        );
        check(POINTWISE, &text, 1, &sizes);
    }
}

/// A depthwise convolution, and the pointwise one that reads it.
const SEPARABLE: &str =
    "fn separable<H, W, C, O, OH = H - 2, OW = W - 2>(x: f32[H, W, C], dw: f32[3, 3, C], pw: f32[C, O]) -> y: f32[OH, OW, O] {
    let d[h, w, c]: f32[OH, OW, C] = sum(a in 0..3, b in 0..3) { x[h + a, w + b, c] * dw[a, b, c] };
    y[h, w, o] = sum(c in 0..C) { d[h, w, c] * pw[c, o] };
}";

#[test]
fn depthwise_and_pointwise() {
    let sizes: [&[(&str, i64)]; 3] = [
        &[("H", 6), ("W", 10), ("C", 8), ("O", 16)],
        &[("H", 5), ("W", 13), ("C", 7), ("O", 3)],
        &[("H", 3), ("W", 3), ("C", 1), ("O", 17)],
    ];
    for place in [
        "tile(c: 4 => c_o); reorder(c_o, c); compute_at(d, c_o, to: shared);",
        "tile(c: 4 => c_o); reorder(c_o, c); compute_at(d, c_o, to: shared, row_pad: 1); d { fuse(h, w, c => item); tile(item: 16 => round); distribute(item => thread(x)); serial(round); unroll(a, b); }",
        "compute_at(d, c, to: register); d { unroll(a, b); }",
    ] {
        let text = format!(
            "V: separable for p {{ tile(h: 2, w: 4, o: 8) => workgroup(z, y, x); fuse(h, w, o => t); distribute(t => thread(x)); {place} }}"
        );
        check(SEPARABLE, &text, 1, &sizes);
    }
}

/// A blur along rows, then along columns.
const BLUR: &str = "fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
    let r[i, j]: f32[H, W] = sum(b in 0..3) { x.clamp()[i, j + b - 1] } / 3.0;
    y[i, j] = sum(a in 0..3) { r.pad(0.25)[i + a - 1, j] } / 3.0;
}";

#[test]
fn two_passes() {
    let sizes: [&[(&str, i64)]; 4] =
        [&[("H", 8), ("W", 16)], &[("H", 7), ("W", 33)], &[("H", 1), ("W", 1)], &[("H", 40), ("W", 3)]];
    for place in [
        "compute_at(r, workgroup, to: shared);",
        "compute_at(r, workgroup, to: shared, row_pad: 1); r { distribute(j => thread(x)); tile(i: 8) => thread(y); serial(i); unroll(b); }",
        "unroll(a); compute_at(r, thread, to: register);",
        "unroll(a); compute_at(r, a, to: register);",
    ] {
        let text = format!("V: blur for p {{ tile(i: 8, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); {place} }}");
        check(BLUR, &text, 1, &sizes);
    }
}

/// Pointwise stages in shared memory, where one reads another.
#[test]
fn pointwise_stages_at_loops() {
    let boxes: [&[(&str, i64)]; 3] = [&[("H", 7), ("W", 33)], &[("H", 1), ("W", 1)], &[("H", 64), ("W", 3)]];
    for places in [
        "compute_at(b, workgroup, to: shared);",
        "compute_at(b, thread, to: register);",
        "compute_at(b, thread, to: register); root(a);",
    ] {
        let text = format!("V: chain for p {{ tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); {places} }}");
        check(CHAIN, &text, if places.contains("root") { 2 } else { 1 }, &boxes);
    }
}

/// Two intermediates at every place, in every memory: each schedule is refused with a reason, or is right.
#[test]
fn every_place() {
    let hosts = [
        "tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x));",
        "tile(i: 4, j: 16) => workgroup(y, x); tile(i: 2 round_up, j: 5) => thread(y, x); unroll(i, j);",
        "tile(i: 3, j: 32) => workgroup(y, x); tile(j: 16 => jo); serial(i); unroll(jo); distribute(j => thread(x));",
        "distribute(i => workgroup(y)); tile(j: 24) => workgroup(x); tile(j: 8 => jo); serial(jo); vectorize(j, 4, unaligned: scalar); unroll(j);",
    ];
    let places = ["i", "j", "workgroup", "thread"];
    let sizes = [[("H", 7), ("W", 33)], [("H", 4), ("W", 16)], [("H", 1), ("W", 9)]];
    let mut taken = 0;
    for host in hosts {
        for unroll in ["", "unroll(k);"] {
            for (n, (first, second)) in places.iter().flat_map(|a| places.iter().map(move |b| (a, b))).enumerate() {
                let [to, other] =
                    [["shared", "register"], ["register", "register"], ["shared", "shared"], ["register", "shared"]][n % 4];
                let text = format!(
                    "V: chained for p {{ {host} {unroll} compute_at(a, {first}, to: {to}); compute_at(b, {second}, to: {other}); }}"
                );
                match try_variant(CHAINED, &text, &profiles()[n % 2]) {
                    Ok(variant) => {
                        taken += 1;
                        sizes.iter().for_each(|dims| variant.check(&dims[..], &[]));
                    }
                    Err(refusal) => assert!(!refusal.is_defect, "the verifier refuses {text}\n{}", refusal.text),
                }
            }
        }
    }
    assert!(taken >= 12, "only {taken} are legal");
}

/// A reduction reads what another stage computes, and a result reads both.
const CHAINED: &str = "fn chained<H, W>(x: f32[H, W], w: f32[3]) -> y: f32[H, W] {
    let a[i, j]: f32[H, W] = x.clamp()[i, j + 1] * 2.0 - x[i, j];
    let b[i, j]: f32[H, W] = sum(d in 0..3) { a.pad(0.5)[i, j + d - 1] * w[d] };
    y[i, j] = sum(k in 0..2) { b.pad(1.0)[i + k - 1, j] + b[i, j] * w[k] } + a.pad(0.5)[i - 1, j];
}";

/// A padded stage whose sums are as long as its index: in the padding far out of bounds, the sums must not be as long as that
/// index.
#[test]
fn a_padded_stage_far_outside() {
    let kernel = "fn k<N>(x: f32[N, N], z: f32[4]) -> y: f32[4] {
        let s[i]: f32[N] = sum(l in 0..=i) { x[i, (N - 1) - l] };
        y[i] = s.pad(0.5)[i * 100000000 - 1] + z[i];
    }";
    for place in ["workgroup, to: register", "workgroup, to: shared", "i, to: register"] {
        let schedule = format!("V: k for p {{ distribute(i => workgroup(x)); compute_at(s, {place}); }}");
        let schedule =
            if place.starts_with('i') { schedule.replace("distribute(i => workgroup(x));", "serial(i);") } else { schedule };
        check(kernel, &schedule, 1, &[&[("N", 1)], &[("N", 5)]]);
    }
}
