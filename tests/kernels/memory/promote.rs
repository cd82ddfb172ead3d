//! Copies: to shared memory and to registers, of boxes and of listed axes, into rounded-up tiles and at odd sizes.

use crate::harness::{profiles, variant};
use tilewright_dsl::profile::Profile;

const SGEMM: &str = "fn sgemm<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N], alpha: T, beta: T, c: &mut T[M, N]) {
    c[i, j] = alpha * sum(k in 0..K) { a[i, k] * b[k, j] } + beta * c[i, j];
}";

const MATMUL: &str = "fn matmul<T: f32 | f16, M, N, K>(a: T[M, K], b: T[K, N]) -> c: T[M, N] {
    c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
}";

const SIZES: [(i64, i64, i64); 6] = [(1, 1, 1), (3, 7, 1), (130, 3, 7), (1, 130, 3), (31, 37, 41), (8, 16, 0)];

/// Returns the harness's profiles, with as much memory as devices have.
fn large() -> Vec<Profile> {
    let larger = |mut p: Profile| {
        p.shared_bytes = 32768;
        p
    };
    profiles().map(larger).into()
}

fn check_matmul(schedule: &str) {
    for profile in large() {
        let variant = variant(MATMUL, schedule, &profile);
        for (m, n, k) in SIZES {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn boxes_in_shared_memory() {
    check_matmul(
        "V: matmul<T = f32> for p {
            tile(i: 8, j: 8) => workgroup(y, x);
            distribute(i, j => thread(y, x));
            tile(k: 8 => k_o);
            promote(a => a_s, at: k_o, to: shared);
            promote(b => b_s, at: k_o, to: shared);
        }",
    );
}

/// Alpha, beta, and `c` in place: 16x16 threads, 4x4 elements each as 2x2 of 2x2.
#[test]
fn sgemm() {
    let text = "V: sgemm<T = DTYPE> for p {
        tile(i: 64 round_up, j: 64 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        split(i, [2, 16, 2] => i_r, i_t, i_v);
        split(j, [2, 16, 2] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 2, unaligned: scalar);
    }";
    for profile in large() {
        for dtype in ["f32", "f16"] {
            let variant = variant(SGEMM, &text.replace("DTYPE", dtype), &profile);
            for (m, n, k) in SIZES {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[0.5, -0.25]);
            }
        }
    }
}

const CONV: &str =
    "fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1, OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
    input: T[N, IH, IW, IC], filter: T[FH, FW, IC, OC]) -> output: T[N, OH, OW, OC] {
    output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
        input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
    };
}";

/// A filter in registers for all of a thread's pixels, and a pixel for all of its channels.
#[test]
fn a_preloaded_filter() {
    let text = "V: conv2d<T = DTYPE> for p where OH % 2 == 0, OW % 8 == 0, OC % 32 == 0, IC % 8 == 0 {
        tile(n: 1, oh: 2, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(oh: 1, ow: 4, oc: LANES) => thread(z, y, x);
        tile(ic: 8 => ic_o);
        reorder(fh, fw, ic_o, ow, ic, oc);
        promote(filter => f[ic, oc], at: ic_o, to: register, vector: LANES);
        promote(input => x[ic], at: ow, to: register, vector: LANES);
        unroll(ow, ic);
        vectorize(oc, LANES);
    }";
    for profile in large() {
        for (dtype, lanes) in [("f32", "4"), ("f16", "8")] {
            let variant = variant(CONV, &text.replace("DTYPE", dtype).replace("LANES", lanes), &profile);
            variant.check(&[("N", 2), ("IH", 4), ("IW", 10), ("IC", 8), ("OC", 32)], &[]);
            variant.check(&[("N", 1), ("IH", 6), ("IW", 18), ("IC", 16), ("OC", 64)], &[]);
        }
    }
}

#[test]
fn a_halo_of_a_strided_window() {
    let texts = [
        "V: conv2d<T = f32, S = 2> for p {
            tile(n: 1, oh: 1, ow: 8, oc: 8) => workgroup(z, z, y, x);
            distribute(ow, oc => thread(y, x));
            tile(ic: 16 => ic_o);
            reorder(ic_o, fh, fw, ic);
            promote(input => x_s, at: ic_o, to: shared, fill: 0.0);
            x_s { fuse(oh_fh, ic => t); distribute(t => thread(linear)); serial(ow_fw); }
        }",
        "V: conv2d<T = f32, S = 3> for p {
            tile(n: 1, oh: 2, ow: 5, oc: 2) => workgroup(z, z, y, x);
            distribute(oh, ow, oc => thread(z, y, x));
            tile(ic: 2 => ic_o);
            reorder(ic_o, fh, fw, ic);
            promote(input => x_s, at: ic_o, to: shared);
            x_s { distribute(oh_fh, ow_fw, ic => thread(z, y, x)); }
            promote(filter => w_s, at: ic_o, to: shared, row_pad: 1);
        }",
    ];
    for (text, stride) in texts.into_iter().zip([2, 3]) {
        for profile in large() {
            let variant = variant(CONV, text, &profile);
            for (n, oh, ow, ic, oc) in [(1, 1, 1, 1, 1), (2, 3, 7, 5, 3), (1, 2, 17, 19, 13)] {
                let (ih, iw) = ((oh - 1) * stride + 3, (ow - 1) * stride + 4);
                variant.check(&[("N", n), ("IH", ih), ("IW", iw), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

const NCHW: &str = "fn conv_nchw<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
    input: T[N, IC, IH, IW], filter: T[OC, IC, FH, FW]) -> output: T[N, OC, OH, OW] {
    output[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
        input[n, ic, oh + fh, ow + fw] * filter[oc, ic, fh, fw]
    };
}";

/// The columns of an im2col that is never stored, under fused axes; the result is written back together.
#[test]
fn implicit_gemm() {
    let text = "V: conv_nchw<T = DTYPE> for p {
        fuse(oh, ow => p);
        fuse(ic, fh, fw => k);
        tile(n: 1, oc: 32 round_up, p: 32 round_up) => workgroup(z, y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, oc, p);
        promote(input => cols[k, p], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(filter => w[oc, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(output => out[oc, p], at: workgroup, to: shared);
        tile(oc: 4, p: 4) => thread(y, x);
        unroll(oc, p);
    }";
    for profile in large() {
        for dtype in ["f32", "f16"] {
            let variant = variant(NCHW, &text.replace("DTYPE", dtype), &profile);
            for (n, oh, ow, ic, oc) in [(1, 1, 1, 1, 1), (2, 3, 7, 5, 3), (1, 5, 13, 7, 37)] {
                variant.check(&[("N", n), ("IH", oh + 2), ("IW", ow + 2), ("IC", ic), ("OC", oc)], &[]);
            }
        }
    }
}

/// Rows swizzled against bank conflicts, with facts that allow wide copies.
#[test]
fn swizzled_and_wide() {
    let text = "V: matmul<T = DTYPE> for p where K % 8 == 0, N % 8 == 0 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, swizzle: 4, vector: 4);
        promote(b => b_s[j, k], at: k_o, to: shared, fill: 0.0, swizzle: 2);
        tile(i: 4, j: 4) => thread(y, x);
        unroll(i, j);
    }";
    for profile in large() {
        for dtype in ["f32", "f16"] {
            let variant = variant(MATMUL, &text.replace("DTYPE", dtype), &profile);
            for (m, n, k) in [(1, 8, 8), (33, 40, 24), (130, 64, 40)] {
                variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
            }
        }
    }
}

/// Registers around a shared copy, with their own elements in each invocation.
#[test]
fn registers_around_a_shared_copy() {
    let kernel = "fn biased<M, N, K>(a: f32[M, K], b: f32[K, N], w: f32[M], v: f32[N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] * w[i] } + v[j];
    }";
    let text = "V: biased for p {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(i: 4, j: 4) => thread(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(w => w_r, at: workgroup, to: register);
        promote(v => v_r, at: thread, to: register);
        promote(b => b_s, at: k_o, to: shared);
        promote(a => a_r[i], at: k, to: register);
        unroll(i, j);
    }";
    for profile in large() {
        let variant = variant(kernel, text, &profile);
        for (m, n, k) in SIZES {
            variant.check(&[("M", m), ("N", n), ("K", k)], &[]);
        }
    }
}

#[test]
fn a_separable_blur() {
    let blur = "fn blur<H, W>(x: f32[H, W], w: f32[5]) -> y: f32[H, W] {
        let t[i, j]: f32[H, W] = sum(a in 0..5) { x.clamp()[i + a - 2, j] * w[a] };
        y[i, j] = sum(b in 0..5) { t.pad(0.0)[i, j + b - 2] * w[b] };
    }";
    let text = "V: blur for p {
        t { tile(i: 8, j: 8) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(x => x_s, at: workgroup, to: shared); }
        y { tile(i: 4, j: 16) => workgroup(y, x); distribute(i, j => thread(y, x)); promote(t => t_s, at: workgroup, to: shared);
            promote(w => w_r, at: workgroup, to: register); unroll(b); }
    }";
    for profile in large() {
        let variant = variant(blur, text, &profile);
        for (h, w) in [(1, 1), (3, 7), (13, 130), (31, 17)] {
            variant.check(&[("H", h), ("W", w)], &[]);
        }
    }
}

#[test]
fn a_tiled_pooling() {
    let pool = "fn pool<H, W, C, OH = (H - 3) / 2 + 1, OW = (W - 3) / 2 + 1>(x: f32[H, W, C]) -> y: f32[OH, OW, C] {
        y[i, j, c] = max(a in 0..3, b in 0..3) { x[i * 2 + a, j * 2 + b, c] };
    }";
    let text = "V: pool for p {
        tile(i: 4, j: 4, c: 4) => workgroup(z, y, x);
        promote(x => x_s, at: workgroup, to: shared, fill: -f32::INFINITY);
        distribute(i, j, c => thread(z, y, x));
        promote(x_s => x_r[b], at: a, to: register);
        unroll(b);
    }";
    for profile in large() {
        let variant = variant(pool, text, &profile);
        for (oh, ow, c) in [(1, 1, 1), (3, 7, 5), (13, 5, 17)] {
            variant.check(&[("H", oh * 2 + 1), ("W", ow * 2 + 2), ("C", c)], &[]);
        }
    }
}

/// Ranges that are not proportional to the tile: quotients and remainders.
#[test]
fn repeated_elements() {
    let kernel = "fn repeat<N, H = (N + 1) / 2>(x: f32[H], w: f32[3], z: f32[N]) -> y: f32[N] {
        y[i] = x[i / 2] * w[i % 3] + z[i];
    }";
    for tile in [1, 3, 8] {
        let text = format!(
            "V: repeat for p {{
                tile(i: {tile}) => workgroup(x);
                promote(x => x_s, at: workgroup, to: shared);
                promote(w => w_s, at: workgroup, to: shared);
                distribute(i => thread(x));
            }}"
        );
        for profile in large() {
            let variant = variant(kernel, &text, &profile);
            for n in [1, 2, 3, 17, 130] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}

#[test]
fn a_transpose() {
    let transpose = "fn transpose<T: f32 | f16, N, M>(x: T[N, M]) -> y: T[M, N] { y[j, i] = x[i, j]; }";
    let texts = [
        "V: transpose<T = DTYPE> for p {
            tile(j: 16, i: 16) => workgroup(y, x);
            promote(x => x_s[j, i], at: workgroup, to: shared, row_pad: 1);
            tile(j: 4 => j_o);
            distribute(j, i => thread(y, x));
            serial(j_o);
        }",
        "V: transpose<T = DTYPE> for p {
            tile(j: 16, i: 16) => workgroup(y, x);
            promote(y => y_s, at: workgroup, to: shared, row_pad: 1);
            tile(i: 4 => i_o);
            distribute(i, j => thread(y, x));
            serial(i_o);
        }",
    ];
    for text in texts {
        for profile in large() {
            for dtype in ["f32", "f16"] {
                let variant = variant(transpose, &text.replace("DTYPE", dtype), &profile);
                for (n, m) in [(1, 1), (3, 7), (130, 31), (17, 64)] {
                    variant.check(&[("N", n), ("M", m)], &[]);
                }
            }
        }
    }
}

/// Tiles that do not divide the sizes, 6x7 threads, and copies of 5 rows.
#[test]
fn sizes_that_divide_nothing() {
    check_matmul(
        "V: matmul<T = f32> for p {
            tile(i: 13, j: 7) => workgroup(y, x);
            tile(k: 5 => k_o);
            reorder(k_o, k, i, j);
            promote(a => a_s, at: k_o, to: shared);
            promote(b => b_s[j, k], at: k_o, to: shared, row_pad: 1);
            tile(i: 3 => i_t);
            distribute(i_t, j => thread(y, x));
            promote(a_s => a_r[i], at: k, to: register);
            unroll(i);
        }",
    );
}

/// A strided and dilated convolution in tiles of 5x3 pixels and 7 channels, which do not divide the sizes. Its box with the halo is
/// in shared memory, and its filter in steps of 2x3 taps.
#[test]
fn a_convolution_in_uneven_tiles() {
    let conv =
        "fn conv<N, H, W, C, O, OH = (H - 5) / 2 + 1, OW = W - 4>(x: f32[N, H, W, C], f: f32[3, 3, C, O]) -> y: f32[N, OH, OW, O] {
        y[n, i, j, o] = sum(a in 0..3, b in 0..3, c in 0..C) { x[n, i * 2 + a * 2, j + b * 2, c] * f[a, b, c, o] };
    }";
    let text = "V: conv for p {
        tile(n: 1, i: 5, j: 3, o: 7) => workgroup(z, z, y, x);
        tile(c: 3 => c_o, a: 2 => a_o);
        reorder(c_o, a_o, a, b, c, i, j, o);
        promote(x => x_s, at: c_o, to: shared);
        promote(f => f_s, at: a_o, to: shared);
        tile(i: 2 => i_t);
        distribute(i_t, j, o => thread(z, y, x));
        unroll(i);
    }";
    for profile in large() {
        let variant = variant(conv, text, &profile);
        for (n, h, w, c, o) in [(1, 5, 5, 1, 1), (2, 16, 9, 4, 8), (1, 27, 14, 7, 15)] {
            variant.check(&[("N", n), ("H", h), ("W", w), ("C", c), ("O", o)], &[]);
        }
    }
}

/// 64 invocations, where 48 compute the rows that all of them read.
#[test]
fn some_of_the_invocations() {
    let kernel = "fn smooth<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let r[i, j]: f32[H, W] = sum(b in 0..3) { x.clamp()[i, j + b - 1] };
        y[i, j] = sum(a in 0..3) { r.clamp()[i * 3 / 4 + a - 1, j] };
    }";
    let text = "V: smooth for p {
        tile(i: 4, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        compute_at(r, workgroup, to: shared);
        r { tile(i: 3 => i_o); distribute(i, j => thread(y, x)); serial(i_o); }
    }";
    for profile in large() {
        let variant = variant(kernel, text, &profile);
        for (h, w) in [(1, 1), (3, 7), (13, 130), (67, 17)] {
            variant.check(&[("H", h), ("W", w)], &[]);
        }
    }
}

/// The elements that a tile reads at quotients grow and shrink with the tile: an aligned tile of 4 needs one element, a tile of 3
/// needs two.
#[test]
fn shared_memory_that_is_not_monotone_in_the_tile() {
    let kernel = "fn repeat<N, H = (N + 3) / 4>(x: f32[H, 3], z: f32[N]) -> y: f32[N] { y[i] = x[i / 4, i % 3] + z[i]; }";
    for tile in [3, 4, 5, 8, 9] {
        let text = format!(
            "V: repeat for p {{ tile(i: {tile}) => workgroup(x); promote(x => x_s, at: workgroup, to: shared); distribute(i => thread(x)); }}"
        );
        for profile in large() {
            let variant = variant(kernel, &text, &profile);
            for n in [1, 3, 17, 130] {
                variant.check(&[("N", n)], &[]);
            }
        }
    }
}
