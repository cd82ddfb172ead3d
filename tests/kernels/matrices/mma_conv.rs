//! Convolutions on matrix units, by ordinary directives around `mma`: implicit products of windows, strided and padded, pointwise
//! and grouped convolutions, and Winograd's batched product. The sizes are not multiples of the tiles.

use super::fragment::variants;

fn check(kernel: &str, schedule: &str, sizes: &[&[(&str, i64)]]) {
    for variant in variants(kernel, schedule) {
        for size in sizes {
            variant.check(size, &[]);
        }
    }
}

/// Channels last, with windows that are two pixels apart and exceed the edges: the copy of the windows has the padding.
#[test]
fn strided_and_padded_with_channels_last() {
    let kernel = "fn conv<N, H, W, C, O, S = 2, OH = (H - 1) / S + 1, OW = (W - 1) / S + 1>(x: f16[N, H, W, C], w: f16[3, 3, C, O])
        -> y: f16[N, OH, OW, O] where H >= 1, W >= 1 {
        y[n, h, q, o] = sum(fh in 0..3, fw in 0..3, c in 0..C) {
            x.pad(0.0)[n, h * S + fh - 1, q * S + fw - 1, c] as f32 * w[fh, fw, c, o] as f32
        } as f16;
    }";
    let schedule = "V: conv for p {
        fuse(n, h, q => t);
        fuse(fh, fw, c => k);
        tile(t: 32 round_up, o: 32 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, t, o);
        promote(x => x_s[t, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(w => w_s[k, o], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        promote(y => y_s[t, o], at: workgroup, to: shared);
        tile(t: 16, o: 16) => subgroup(y, x);
        mma(t, o, k, SHAPE);
    }";
    let sizes: [&[(&str, i64)]; 3] = [
        &[("N", 2), ("H", 7), ("W", 9), ("C", 3), ("O", 5)],
        &[("N", 1), ("H", 8), ("W", 5), ("C", 17), ("O", 33)],
        &[("N", 1), ("H", 1), ("W", 1), ("C", 1), ("O", 1)],
    ];
    check(kernel, schedule, &sizes);
    check(kernel, &schedule.replace("V: conv", "V: conv<S = 1>"), &sizes);
}

/// Channels first: pixels of one image are the columns.
#[test]
fn strided_and_padded_with_channels_first() {
    let kernel = "fn conv<N, C, H, W, O, S = 2, OH = (H - 1) / S + 1, OW = (W - 1) / S + 1>(x: f16[N, C, H, W], w: f16[O, C, 3, 3])
        -> y: f32[N, O, OH, OW] where H >= 1, W >= 1 {
        y[n, o, h, q] = sum(c in 0..C, fh in 0..3, fw in 0..3) {
            x.pad(0.0)[n, c, h * S + fh - 1, q * S + fw - 1] as f32 * w[o, c, fh, fw] as f32
        };
    }";
    let schedule = "V: conv for p {
        fuse(h, q => t);
        fuse(c, fh, fw => k);
        tile(n: 1, o: 16 round_up, t: 32 round_up) => workgroup(z, y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, o, t);
        promote(w => w_s[o, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(x => x_s[k, t], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(y => y_s[o, t], at: workgroup, to: shared);
        tile(t: 16) => subgroup(x);
        mma(o, t, k, SHAPE);
    }";
    let sizes: [&[(&str, i64)]; 2] =
        [&[("N", 2), ("C", 3), ("H", 7), ("W", 9), ("O", 5)], &[("N", 1), ("C", 17), ("H", 8), ("W", 5), ("O", 19)]];
    check(kernel, schedule, &sizes);
}

/// A pointwise convolution is a plain product of pixels, with an epilogue.
#[test]
fn pointwise() {
    let kernel = "fn conv1x1<N, H, W, C, O>(x: f16[N, H, W, C], w: f16[C, O], bias: f32[O]) -> y: f16[N, H, W, O] {
        y[n, h, q, o] = (sum(c in 0..C) { x[n, h, q, c] as f32 * w[c, o] as f32 } + bias[o]).max(0.0) as f16;
    }";
    let ragged = "V: conv1x1 for p {
        fuse(n, h, q => t);
        tile(t: 32 round_up, o: 16 round_up) => workgroup(y, x);
        tile(c: 16 round_up => c_o);
        reorder(c_o, c, t, o);
        promote(x => x_s[t, c], at: c_o, to: shared, fill: 0.0, row_pad: 8);
        promote(w => w_s[c, o], at: c_o, to: shared, fill: 0.0, row_pad: 8);
        promote(y => y_s[t, o], at: workgroup, to: shared);
        tile(t: 16) => subgroup(x);
        mma(t, o, c, SHAPE);
    }";
    let sizes: [&[(&str, i64)]; 2] =
        [&[("N", 2), ("H", 3), ("W", 7), ("C", 5), ("O", 19)], &[("N", 1), ("H", 5), ("W", 5), ("C", 33), ("O", 7)]];
    check(kernel, ragged, &sizes);
}

/// Each group of channels is a separate product; also if groups are not an axis of the tensors.
#[test]
fn grouped() {
    let axes = "fn conv<N, H, W, G, C, O, OH = H - 2, OW = W - 2>(x: f16[N, H, W, G, C], w: f16[3, 3, G, C, O])
        -> y: f32[N, OH, OW, G, O] {
        y[n, h, q, g, o] = sum(fh in 0..3, fw in 0..3, c in 0..C) {
            x[n, h + fh, q + fw, g, c] as f32 * w[fh, fw, g, c, o] as f32
        };
    }";
    let channels = "fn conv<N, H, W, G, C = 12, O = 20, OH = H - 2, OW = W - 2>(x: f16[N, H, W, G * C], w: f16[3, 3, G, C, O])
        -> y: f32[N, OH, OW, G, O] {
        y[n, h, q, g, o] = sum(fh in 0..3, fw in 0..3, c in 0..C) {
            x[n, h + fh, q + fw, g * C + c] as f32 * w[fh, fw, g, c, o] as f32
        };
    }";
    let schedule = "V: conv for p {
        fuse(n, h, q => t);
        fuse(fh, fw, c => k);
        tile(g: 1, t: 32 round_up, o: 16 round_up) => workgroup(z, y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, t, o);
        promote(x => x_s[t, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(w => w_s[k, o], at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(y => y_s[t, o], at: workgroup, to: shared);
        tile(t: 16) => subgroup(x);
        mma(t, o, k, SHAPE);
    }";
    let sizes: [&[(&str, i64)]; 2] = [
        &[("N", 2), ("H", 5), ("W", 6), ("G", 3), ("C", 5), ("O", 7)],
        &[("N", 1), ("H", 4), ("W", 9), ("G", 2), ("C", 17), ("O", 19)],
    ];
    check(axes, schedule, &sizes);
    check(channels, schedule, &[&[("N", 1), ("H", 5), ("W", 7), ("G", 3)], &[("N", 2), ("H", 3), ("W", 4), ("G", 1)]]);
}

/// Winograd's product is a product of f16 matrices for each point of a tile, with sums in f32.
#[test]
fn the_batched_product_of_winograd() {
    let kernel = "fn conv<N, H, W, IC, OC>(x: f16[N, H, W, IC], w: f16[3, 3, IC, OC]) -> y: f16[N, H, W, OC] {
        y[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
            x.pad(0.0)[n, oh + fh - 1, ow + fw - 1, ic] as f32 * w[fh, fw, ic, oc] as f32
        } as f16;
    }";
    let schedule = "V: conv for p where IC <= 64 {
        decompose_winograd(y => v, u, g, m: 2, store: f16, tolerance: 1e-2);
        precompute(u);
        g {
            fuse(p, q => pq);
            fuse(n, th, tw => t);
            distribute(pq => workgroup(z));
            tile(t: 32 round_up, oc: 16 round_up) => workgroup(y, x);
            tile(ic: 16 round_up => ic_o);
            reorder(ic_o, ic, t, oc);
            promote(v => v_s[t, ic], at: ic_o, to: shared, fill: 0.0, row_pad: 8);
            promote(u => u_s[ic, oc], at: ic_o, to: shared, fill: 0.0, row_pad: 8);
            promote(g => g_s[t, oc], at: workgroup, to: shared);
            tile(t: 16) => subgroup(x);
            mma(t, oc, ic, SHAPE);
        }
    }";
    let sizes: [&[(&str, i64)]; 3] = [
        &[("N", 1), ("H", 12), ("W", 12), ("IC", 8), ("OC", 4)],
        &[("N", 2), ("H", 7), ("W", 5), ("IC", 3), ("OC", 5)],
        &[("N", 1), ("H", 1), ("W", 3), ("IC", 17), ("OC", 19)],
    ];
    check(kernel, schedule, &sizes);
}
