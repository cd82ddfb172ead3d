//! Convolutions of 3x3 pixels by Winograd's algorithm: three dispatches, with the filter prepared. The product dominates the time:
//! for each point of the transforms, a matrix of tiles times a matrix of the filter, both through shared memory, 128 tiles x 64
//! channels per workgroup of 256.
//!
//! On an H200, for a convolution that pads its input, F(4, 3) and F(2, 3) took 140 and 211 us for 32x56x56x64 -> 64, 103 and 165 us
//! for 32x16x16x256 -> 256, and 370 and 245 us for 2x8x8x1280 -> 1280. In the last case, the traffic of the filter dominates.

use crate::kernels::{conv_nchw, conv2d, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Whole tiles of 4x4 results.
    pub F4: conv2d<T = f32> for nvidia_hopper
    where OH % 4 == 0, OW % 4 == 0, IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 4>;
        g { apply parts::winograd::PRODUCTS; }
    }
}

schedule! {
    /// [`F4`] for any image: a separate dispatch computes the results of whole tiles, and a fourth dispatch copies those that are
    /// in bounds. The workgroups of the product are half as large, because small images give fewer of them: 32x16x16x256 -> 256
    /// takes 103 us in this way, and 112 us with the workgroups of [`F4`].
    pub F4_ANY: conv2d<T = f32> for nvidia_hopper
    where IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        root(output_tile);
        apply parts::winograd::TRANSFORMS<M = 4>;
        apply parts::winograd::TILES;
        g { apply parts::winograd::PRODUCTS<ROWS = 64>; }
    }
}

schedule! {
    /// Whole tiles of 2x2 results. Fewer weights are read than by [`F4`], which suits small images of many channels.
    pub F2: conv2d<T = f32> for nvidia_hopper
    where OH % 2 == 0, OW % 2 == 0, IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 2, tolerance: 1.5e-6);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 2>;
        g { apply parts::winograd::PRODUCTS; }
    }
}

schedule! {
    /// [`F2`] for a few small images of many channels: 32 tiles x 64 channels per workgroup of 128. The sum is split into parts of
    /// 256 channels, so that the whole device reads weights: on an H200, 2x8x8x1280 -> 1280 takes 89 us.
    pub F2_SMALL: conv2d<T = f32> for nvidia_hopper
    where OH % 2 == 0, OW % 2 == 0, OH <= 8, OW <= 8, N <= 4, IC % 256 == 0, OC % 64 == 0, IC <= 4096 {
        decompose_winograd(output => v, u, g, m: 2, tolerance: 6e-7);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 2>;
        g {
            tile(ic: 256 => part);
            rfactor(part => g_part);
            fuse(p, q, n, th, tw => t);
            distribute(t => workgroup(y));
            tile(oc: 64) => workgroup(x);
            distribute(oc => thread(x));
        }
        g_part {
            fuse(n, th, tw => t);
            fuse(p, q => pq);
            distribute(part, pq => workgroup(z, z));
            tile(t: 32 round_up, oc: 64) => workgroup(y, x);
            tile(ic: 16 => k_o);
            reorder(k_o, ic, t, oc);
            promote(v => v_s[ic, t], at: k_o, to: shared, row_pad: 4);
            promote(u => u_s[ic, oc], at: k_o, to: shared);
            tile(t: 4, oc: 4) => thread(y, x);
            promote(v_s => v_r[t], at: ic, to: register);
            promote(u_s => u_r[oc], at: ic, to: register);
            unroll(ic, t);
            vectorize(oc, 4);
        }
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as f16, which halves the memory traffic. Not run on such a device.
    pub F4_F16: conv2d<T = f32> for nvidia_hopper
    where OH % 4 == 0, OW % 4 == 0, IC % 16 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 4>;
        g { apply parts::winograd::PRODUCTS; }
    }
}

schedule! {
    /// NCHW, whole tiles: 64 channels x 64 tiles of an image per workgroup, 4x4 per invocation. Not run on such a device.
    pub F4_NCHW: conv_nchw<T = f32> for nvidia_hopper
    where OH % 4 == 0, OW % 4 == 0, IC % 8 == 0, OC % 64 == 0, IC <= 2048 {
        apply parts::winograd::F4_NCHW;
    }
}

schedule! {
    /// f16 with products on matrix units, any image, in tiles of 4x4 results. Not run on such a device.
    pub F4_MATRICES: conv2d_f16_f32 for nvidia_hopper where IC % 64 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        precompute(u);
        root(output_tile);
        apply parts::winograd::TRANSFORMS<M = 4>;
        apply parts::winograd::TILES;
        g { apply parts::winograd::PRODUCTS_F16; }
    }
}

schedule! {
    /// [`F4_MATRICES`] in tiles of 2x2 results, which round less.
    pub F2_MATRICES: conv2d_f16_f32 for nvidia_hopper where IC % 64 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 2, store: f16, tolerance: 6e-4);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 2>;
        g { apply parts::winograd::PRODUCTS_F16; }
    }
}
