//! Golden nests of `promote`: the places of copies, their contents, and the barriers.

use crate::steps::lowered;

const SGEMM: &str = "fn sgemm<M, N, K>(a: f32[M, K], b: f32[K, N], alpha: f32, beta: f32, c: &mut f32[M, N]) {
    c[i, j] = alpha * sum(k in 0..K) { a[i, k] * b[k, j] } + beta * c[i, j];
}";
const MATMUL: &str =
    "fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] { c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] }; }";
const CONV: &str =
    "fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1, OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
    input: T[N, IH, IW, IC], filter: T[FH, FW, IC, OC]) -> output: T[N, OH, OW, OC] {
    output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
        input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
    };
}";
const NCHW: &str = "fn conv_nchw<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
    input: T[N, IC, IH, IW], filter: T[OC, IC, FH, FW]) -> output: T[N, OC, OH, OW] {
    output[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
        input[n, ic, oh + fh, ow + fw] * filter[oc, ic, fh, fw]
    };
}";
const BLUR: &str = "fn blur<H, W>(x: f32[H, W], w: f32[5]) -> y: f32[H, W] {
    let t[i, j]: f32[H, W] = sum(a in 0..5) { x.clamp()[i + a - 2, j] * w[a] };
    y[i, j] = sum(b in 0..5) { t.clamp()[i, j + b - 2] * w[b] };
}";

#[test]
fn boxes_in_shared_memory() {
    insta::assert_snapshot!(lowered(
        MATMUL,
        "for vulkan_1_1",
        "tile(i: 8, j: 8) => workgroup(y, x);
         distribute(i, j => thread(y, x));
         tile(k: 8 => k_o);
         promote(a => a_s, at: k_o, to: shared);
         promote(b => b_s, at: k_o, to: shared);"
    ));
}

#[test]
fn padding_of_0_is_none() {
    let with = |keys: &str| {
        let copies = format!("promote(a => a_s, at: k_o, to: shared{keys}); promote(b => b_s, at: k_o, to: shared);");
        let threads = "tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); tile(k: 8 => k_o);";
        lowered(MATMUL, "for vulkan_1_1", &format!("{threads} {copies}"))
    };
    let plain = with("");
    assert_eq!(with(", row_pad: 0"), plain);
    assert_eq!(with(", swizzle: 0"), plain);
    assert_eq!(with(", row_pad: 1, swizzle: 0"), with(", row_pad: 1"));
    assert_eq!(with(", row_pad: 0, swizzle: 4"), with(", swizzle: 4"));
    assert_eq!(with(", row_pad: PAD); tune PAD in [0, 4] = 0; serial(k_o"), plain);
}

#[test]
fn sgemm() {
    insta::assert_snapshot!(lowered(
        SGEMM,
        "for arm_valhall",
        "tile(i: 128 round_up, j: 128 round_up) => workgroup(y, x);
         tile(k: 8 round_up => k_o);
         reorder(k_o, k, i, j);
         promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
         promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
         split(i, [2, 16, 4] => i_r, i_t, i_v);
         split(j, [2, 16, 4] => j_r, j_t, j_v);
         distribute(i_t, j_t => thread(y, x));
         promote(a_s => a_r[i_r, i_v], at: k, to: register);
         promote(b_s => b_r[j_r, j_v], at: k, to: register);
         unroll(k, i_r, i_v, j_r);
         vectorize(j_v, 4, unaligned: scalar);"
    ));
}

#[test]
fn a_preloaded_filter_in_f16() {
    insta::assert_snapshot!(lowered(
        CONV,
        "<T = f16> for arm_valhall where OH % 2 == 0, OW % 8 == 0, OC % 32 == 0, IC % 8 == 0",
        "tile(n: 1, oh: 2, ow: 8, oc: 32) => workgroup(z, z, y, x);
         tile(oh: 1, ow: 4, oc: 8) => thread(z, y, x);
         tile(ic: 8 => ic_o);
         reorder(fh, fw, ic_o, ow, ic, oc);
         promote(filter => f[ic, oc], at: ic_o, to: register, vector: 8);
         promote(input => x[ic], at: ow, to: register, vector: 8);
         unroll(ow, ic);
         vectorize(oc, 8);"
    ));
}

#[test]
fn implicit_gemm() {
    insta::assert_snapshot!(lowered(
        NCHW,
        "<T = f16> for arm_valhall",
        "fuse(oh, ow => p);
         fuse(ic, fh, fw => k);
         tile(n: 1, oc: 32 round_up, p: 32 round_up) => workgroup(z, y, x);
         tile(k: 32 round_up => k_o);
         reorder(k_o, k, oc, p);
         promote(input => cols[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
         promote(filter => w[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
         promote(output => out[oc, p], at: workgroup, to: shared);
         tile(oc: 4, p: 4) => thread(y, x);
         unroll(oc, p);"
    ));
}

#[test]
fn a_halo() {
    insta::assert_snapshot!(lowered(
        CONV,
        "<T = f32, S = 2> for vulkan_1_1",
        "tile(n: 1, oh: 1, ow: 8, oc: 8) => workgroup(z, z, y, x);
         distribute(ow, oc => thread(y, x));
         tile(ic: 16 => ic_o);
         reorder(ic_o, fh, fw, ic);
         promote(input => x_s, at: ic_o, to: shared, fill: 0.0);
         x_s { fuse(oh_fh, ic => t); distribute(t => thread(linear)); serial(ow_fw); }"
    ));
}

#[test]
fn a_blur() {
    insta::assert_snapshot!(lowered(
        BLUR,
        "for vulkan_1_1",
        "t { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(x => x_s, at: workgroup, to: shared); }
         y { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(t => t_s, at: workgroup, to: shared);
             promote(w => w_r, at: workgroup, to: register); unroll(b); }"
    ));
}

/// Directives that later directives would break, or that concern work that invocations do together, are refused where they are written.
#[test]
fn registers_are_one_invocations() {
    let biased = "fn biased<M, N, K>(a: f32[M, K], b: f32[K, N], v: f32[N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] } + v[j];
    }";
    let text = lowered(
        biased,
        "for vulkan_1_1",
        "tile(i: 8, j: 8) => workgroup(y, x);
         promote(v => v_r[j], at: workgroup, to: register);
         distribute(i, j => thread(y, x));",
    );
    assert!(text.starts_with("`v_r` holds the elements for all values of `j`"), "{text}");
    let scaled = "fn scaled<M, N>(x: f32[M, N]) -> y: f32[M, N] { y[i, j] = x[i, j] * 2.0; }";
    let text = lowered(
        scaled,
        "for vulkan_1_1",
        "tile(i: 4, j: 4) => workgroup(y, x);
         promote(x => x_s, at: workgroup, to: shared, row_pad: 4);
         promote(x_s => x_t, at: i, to: shared, row_pad: 4);
         distribute(j => thread(x));
         promote(x_s => x_r, at: j, to: register);",
    );
    assert!(text.starts_with("`x_s` is not read under `j`"), "{text}");
    let text = lowered(
        scaled,
        "for vulkan_1_1",
        "tile(i: 4, j: 4) => workgroup(y, x);
         promote(x => x_r, at: workgroup, to: register);
         promote(x_r => x_s, at: i, to: shared);",
    );
    assert!(text.starts_with("`x_r` is in the registers"), "{text}");
}

/// The ends of the index exceed 32 bits, or even 64 bits.
#[test]
fn refuses_footprints_beyond_32_bits() {
    let kernel = "fn k<N, M, K>(x: f32[N]) -> y: f32[N, M, K] {
        y[i, j, k] = x.pad(0.0)[i * 2147483647 + j * 2147483647 + k * 2147483647];
    }";
    for facts in ["M == 3, K == 3", "N == 2147483647, M == 2147483647, K == 2147483647"] {
        let text = lowered(kernel, &format!("for vulkan_1_1 where {facts}"), "promote(x, at: i, to: register); serial(i, j, k);");
        assert!(text.contains("has indices under `i` that do not fit in 32 bits"), "{text}");
    }
}

/// The block of a copy can have the name that is derived from its tensor's name.
#[test]
fn a_block_of_a_copy_without_a_given_name() {
    let with = |promoted: &str| {
        let body = format!(
            "tile(i: 8, j: 8) => workgroup(y, x);
             distribute(i, j => thread(y, x));
             tile(k: 8 => k_o);
             promote({promoted}, at: k_o, to: shared);
             a_shared {{ distribute(i, k => thread(y, x)); }}"
        );
        lowered(MATMUL, "for vulkan_1_1", &body)
    };
    assert!(with("a").starts_with("dispatch"), "{}", with("a"));
    assert_eq!(with("a"), with("a => a_shared"));
}

/// The block of a copy moves to the preparation with the stage that makes the copy.
#[test]
fn a_copy_of_a_prepared_stage() {
    let kernel = "fn sums<N, M>(x: f32[N, M], w: f32[M, M]) -> y: f32[N] {
        let s[j]: f32[M] = sum(i in 0..M) { w[j, i] };
        y[n] = sum(j in 0..M) { x[n, j] * s[j] };
    }";
    let text = lowered(
        kernel,
        "for vulkan_1_1",
        "precompute(s);
         s {
             tile(j: 64) => workgroup(x);
             distribute(j => thread(x));
             tile(i: 8 => i_o);
             promote(w => w_s, at: i_o, to: shared);
         }
         w_s { distribute(j => thread(x)); unroll(i); }",
    );
    assert!(text.starts_with("dispatch") && !text.contains("w_s"), "{text}");
}
