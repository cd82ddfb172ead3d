//! Convolutions: strides, dilation by parameters, dtypes, pointwise with an epilogue, depthwise and causal.

use crate::harness::{profiles, variant};

pub const CONV2D: &str = "fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1,
        OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(input: T[N, IH, IW, IC], filter: T[FH, FW, IC, OC]) -> output: T[N, OH, OW, OC] {
    output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
        input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
    };
}";

pub const TILED: &str = "{
    tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
    tile(ow: 4, oc: 4) => thread(y, x);
    reorder(fh, fw, ic, ow, oc);
    unroll(ic, ow);
    vectorize(oc, 4);
}";

#[test]
fn valhall() {
    for (stride, ow) in [(1, 8), (2, 16), (3, 24)] {
        for profile in profiles() {
            let schedule = format!("V: conv2d<T = f32, S = {stride}> for p where OW % 8 == 0, OC % 32 == 0, IC == 3 {TILED}");
            let width = (ow - 1) * stride + 3;
            variant(CONV2D, &schedule, &profile).check(&[("N", 2), ("IH", 7), ("IW", width), ("IC", 3), ("OC", 32)], &[]);
        }
    }
}

#[test]
fn an_unproved_width_is_guarded() {
    for profile in profiles() {
        let schedule = format!("V: conv2d<T = f32, S = 2> for p where OC % 32 == 0, IC == 3 {TILED}");
        let variant = variant(CONV2D, &schedule, &profile);
        for width in [3, 5, 7, 17, 31] {
            variant.check(&[("N", 1), ("IH", 5), ("IW", width), ("IC", 3), ("OC", 64)], &[]);
        }
    }
}

#[test]
fn halves() {
    for profile in profiles() {
        let schedule = format!("V: conv2d<T = f16, S = 2> for p where OC % 32 == 0, IC == 4 {TILED}");
        variant(CONV2D, &schedule, &profile).check(&[("N", 1), ("IH", 7), ("IW", 15), ("IC", 4), ("OC", 32)], &[]);
        variant(CONV2D, "V: conv2d<T = f16, FH = 1, FW = 5> for p {}", &profile)
            .check(&[("N", 1), ("IH", 3), ("IW", 7), ("IC", 5), ("OC", 3)], &[]);
    }
}

#[test]
fn odd_sizes_under_the_plan() {
    for profile in profiles() {
        for stride in [1, 2, 3] {
            let variant = variant(CONV2D, &format!("V: conv2d<T = f32, S = {stride}> for p {{}}"), &profile);
            for (ih, iw, ic, oc) in [(3, 3, 1, 1), (7, 13, 3, 5), (11, 5, 2, 7), (3, 130, 1, 3)] {
                variant.check(&[("N", 1), ("IH", ih), ("IW", iw), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

#[test]
fn the_other_spelling_with_dilation() {
    let kernel = "fn conv1d<OW, IC, OC, FW = 3, S = 2, D = 2>(input: f32[(OW - 1) * S + (FW - 1) * D + 1, IC], filter: f32[FW, IC, OC], bias: f32[OC]) -> output: f32[OW, OC] {
        output[ow, oc] = (sum(fw in 0..FW, ic in 0..IC) { input[ow * S + fw * D, ic] * filter[fw, ic, oc] } + bias[oc]).max(0.0);
    }";
    for profile in profiles() {
        for schedule in [
            "V: conv1d for p {}",
            "V: conv1d<S = 3, D = 1> for p { tile(ow: 8, oc: 4) => workgroup(y, x); distribute(oc => thread(x)); tile(ow: 2) => thread(y); fuse(fw, ic => k); tile(k: 4); reorder(k_o, k, ow); unroll(k, ow); }",
        ] {
            let variant = variant(kernel, schedule, &profile);
            for (ow, ic, oc) in [(1, 1, 1), (7, 3, 5), (130, 2, 3)] {
                variant.check(&[("OW", ow), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

#[test]
fn pointwise_with_bias_and_relu() {
    let kernel = "fn conv1x1<N, H, W, IC, OC>(x: f32[N, H, W, IC], w: f32[IC, OC], bias: f32[OC]) -> y: f32[N, H, W, OC] {
        y[n, h, w_, oc] = (sum(ic in 0..IC) { x[n, h, w_, ic] * w[ic, oc] } + bias[oc]).max(0.0).min(6.0);
    }";
    let tiled = "V: conv1x1 for p { fuse(n, h, w_ => p); tile(p: 16, oc: 32) => workgroup(y, x); tile(p: 2, oc: 4) => thread(y, x); tile(ic: 4); reorder(ic_o, ic, p, oc); unroll(ic, p); vectorize(oc, 4, unaligned: scalar); }";
    for profile in profiles() {
        for schedule in [tiled, "V: conv1x1 for p {}"] {
            let variant = variant(kernel, schedule, &profile);
            for (h, w, ic, oc) in [(1, 1, 1, 1), (3, 7, 13, 5), (5, 3, 3, 33)] {
                variant.check(&[("N", 1), ("H", h), ("W", w), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

#[test]
fn causal_depthwise() {
    let kernel = "fn causal<B, T, C, K = 4>(x: f32[B, T, C], w: f32[K, C]) -> y: f32[B, T, C] {
        y[b, t, c] = sum(k in 0..K) { x.pad(0.0)[b, t + k - (K - 1), c] * w[k, c] };
    }";
    let tiled = "V: causal for p where C % 4 == 0 { tile(b: 1, t: 8, c: 16) => workgroup(z, y, x); tile(t: 4, c: 4) => thread(y, x); reorder(k, t, c); unroll(k, t); vectorize(c, 4); }";
    for profile in profiles() {
        let plain = variant(kernel, "V: causal for p {}", &profile);
        for (t, c) in [(1, 1), (3, 7), (130, 3)] {
            plain.check(&[("B", 2), ("T", t), ("C", c)], &[]);
        }
        let tiled = variant(kernel, tiled, &profile);
        for (t, c) in [(1, 4), (7, 12), (13, 16)] {
            tiled.check(&[("B", 2), ("T", t), ("C", c)], &[]);
        }
    }
}
