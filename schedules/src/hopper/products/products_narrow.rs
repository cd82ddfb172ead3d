//! Products of bf16 and of 8-bit integers on matrix units.

use crate::kernels::{matmul_bf16, matmul_i8};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups, each with 64x64 in fragments.
    pub BF16_128X128: matmul_bf16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS<BAND = BAND, STEP = STEP>;
        tune BAND in [1, 2, 4, 8] = 8;
        tune STEP in [32, 64] = 64;
        pin(N, K);
        emit(readonly: no);
    }
}

schedule! {
    /// Any sizes: 128x64 per workgroup. The result is written through shared memory.
    pub BF16_ANY: matmul_bf16 for nvidia_hopper {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Large products of integers, with sizes as specialization constants: 128x128 per workgroup of four subgroups, each with 64x64 in
    /// fragments. A first dispatch transposes `b`, because the device loads matrices of bytes quickly only if bytes of one sum are adjacent.
    pub I8_128X128: matmul_i8 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 128 == 0 {
        apply parts::matrices::TRANSPOSED;
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, BAND] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: STEP => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 16);
        promote(b_packed => b_s[j, k], at: k_o, to: shared, row_pad: 16);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 32);
        unroll(k);
        tune BAND in [1, 2, 4, 8] = 8;
        tune STEP in [32, 64, 128] = 128;
        pin(N, K);
        emit(readonly: no);
    }
}

schedule! {
    /// Integers, any sizes: 128x64 per workgroup. The result is written through shared memory.
    pub I8_ANY: matmul_i8 for nvidia_hopper {
        apply parts::matrices::PREFETCHED<STEP = 64, DEPTH = 32, PAD = 16>;
    }
}
