//! Products of halves with sums in f32, on matrix units.

use crate::kernels::matmul_f16;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 128x128 a workgroup of four subgroups, each with 64x64 in fragments; whole tiles.
    pub MMA_128: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
    }
}

schedule! {
    /// The same, with the columns of tiles outside.
    pub MMA_128_B: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128, j: 128) => workgroup(x, y);
        tile(k: 32 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
    }
}

schedule! {
    /// Bands of eight tiles.
    pub MMA_BANDS: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 32 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
    }
}

schedule! {
    /// Any sizes: the result leaves through shared memory.
    pub MMA_ANY: matmul_f16 for nvidia_hopper {
        tile(i: 128 round_up, j: 64 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 64, j: 32) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
    }
}
