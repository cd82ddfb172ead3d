//! Further products of f16 on matrix units: of many pairs, with results or accumulation in f16, and with an epilogue.

use crate::kernels::{batched_matmul_f16, matmul_f16_residual, matmul_f16_rounded, matmul_f16_sums};
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BATCHED: batched_matmul_f16 for nvidia_hopper {
        tile(n: 1, i: 128 round_up, j: 64 round_up) => workgroup(z, y, x);
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

schedule! {
    /// Whole tiles of 128x128. The sizes are specialization constants.
    pub BATCHED_128X128: batched_matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 64 == 0 {
        tile(n: 1, i: 128, j: 128) => workgroup(z, y, x);
        tile(k: 64 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        pin(M, N, K);
    }
}

schedule! {
    /// Accumulation in f32 and a result in f16, for any sizes: 128x64 per workgroup of 4 subgroups. The sums go through shared
    /// memory, and are rounded when they are written.
    pub ROUNDED: matmul_f16_rounded for nvidia_hopper {
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

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups. The sums are rounded in
    /// fragments.
    pub ROUNDED_128X128: matmul_f16_rounded for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 64 => k_o);
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
    /// Accumulation in f16, for any sizes: 128x64 per workgroup of 4 subgroups. The accumulators need half the registers and half
    /// the shared memory.
    pub SUMS: matmul_f16_sums for nvidia_hopper {
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

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups.
    pub SUMS_128X128: matmul_f16_sums for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 64 => k_o);
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
    /// Bias, ReLU and residual are applied when the result is written. For any sizes: 128x64 per workgroup of 4 subgroups.
    pub RESIDUAL: matmul_f16_residual for nvidia_hopper {
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

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups. Bias, ReLU and residual are
    /// applied in fragments.
    pub RESIDUAL_128X128: matmul_f16_residual for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 64 => k_o);
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
