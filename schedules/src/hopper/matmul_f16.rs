//! Products of halves with sums in f32, on matrix units.
//!
//! Tiles and pipelines are those that won on an H200. One buffer for each factor, filled from registers between two barriers, leaves room for two
//! workgroups on a core. Neighbouring invocations store rows of `a` that lie four apart, in different banks. Workgroups
//! go through the tiles in bands, which keeps in the cache what they share.

use crate::kernels::matmul_f16;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Large products, whose sizes the driver folds: 128x256 a workgroup of eight subgroups, each with 64x64 in fragments.
    pub PINNED_128X256: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 256 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 256 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        pin(N, K);
    }
}

schedule! {
    /// The same with 128x128 a workgroup of four subgroups, for smaller products.
    pub PINNED_128X128: matmul_f16 for nvidia_hopper where M % 512 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 4] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        a_s {
            split(i, [16, 2, 2, 2] => q, i_4, i_2, i_1);
            vectorize(k, 8);
            reorder(q, i_1, i_2, i_4, k);
            fuse(q, i_1, i_2, i_4, k => t);
            split(t, [_, 128] => round, item);
            distribute(item => thread(linear));
            unroll(round);
        }
        pin(N, K);
    }
}

schedule! {
    /// The same with 128x64 a workgroup and longer steps, for products that would leave cores idle.
    pub PINNED_128X64: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 64 == 0, K % 64 == 0 {
        tile(i: 128, j: 64) => workgroup(y, x);
        tile(k: 64 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 32) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        pin(N, K);
    }
}

schedule! {
    /// Sizes at run time: 128x128 a workgroup.
    pub TILES_128X128: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 32 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        a_s {
            split(i, [16, 2, 2, 2] => q, i_4, i_2, i_1);
            vectorize(k, 8);
            reorder(q, i_1, i_2, i_4, k);
            fuse(q, i_1, i_2, i_4, k => t);
            split(t, [_, 128] => round, item);
            distribute(item => thread(linear));
            unroll(round);
        }
    }
}

schedule! {
    /// Any sizes: 128x64 a workgroup, whose result leaves through shared memory.
    pub ANY: matmul_f16 for nvidia_hopper {
        tile(i: 128 round_up, j: 64 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 64, j: 32) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        specialize(K % 8 == 0, N % 8 == 0);
    }
}
