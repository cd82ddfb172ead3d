//! Matrix multiply.

use crate::kernels::matmul;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 4x4 per invocation, 16x16 invocations.
    pub REGISTERS_4X4: matmul for nvidia_hopper where M % 64 == 0, N % 64 == 0, K % 4 == 0 {
        tile(i: 64, j: 64) => workgroup(y, x);
        tile(i: 4, j: 4) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
    }
}

schedule! {
    /// 64x128 per workgroup of 128, 8x8 per invocation, 16 steps of k at a time. The next steps are prefetched to registers while
    /// the current ones are computed. The sizes are specialization constants.
    pub PREFETCH_64X128: matmul for nvidia_hopper where M % 64 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 64, j: 128) => workgroup(y, x);
        tile(k: STEP => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared);
        pipeline(k_o, buffers: BUFFERS, prefetch: register);
        split(i, [2, 2, 4, 4] => i_r, i_w, i_t, i_v);
        split(j, [2, 2, 8, 4] => j_r, j_w, j_t, j_v);
        distribute(i_w, j_w => subgroup(y, x));
        distribute(i_t, j_t => lane(x, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4);
        tune STEP in [8, 16] = 16;
        tune BUFFERS in [1, 2] = 2;
        pin(N, K);
    }
}

schedule! {
    /// Small products: 32x64 per workgroup of 128, 4x4 per invocation, so that all cores have work. The sizes are specialization constants.
    /// Load it first for sizes up to about 512x512.
    pub TILES_32X64: matmul for nvidia_hopper {
        apply parts::matrices::TILES<ROWS = 32, COLUMNS = COLUMNS, STEP = STEP, TALL = 4, WIDE = 4>;
        pipeline(k_o, buffers: BUFFERS, prefetch: register);
        specialize(K % 4 == 0, N % 4 == 0);
        tune COLUMNS in [32, 64] = 64;
        tune STEP in [16, 32] = 16;
        tune BUFFERS in [1, 2] = 1;
        pin(N, K);
    }
}

schedule! {
    /// Products of about 1024x1024: 64x64 per workgroup of 128, 8x4 per invocation. The sizes are specialization constants.
    pub TILES_64X64: matmul for nvidia_hopper {
        apply parts::matrices::TILES<ROWS = 64, COLUMNS = COLUMNS, STEP = STEP, WIDE = 4>;
        pipeline(k_o, buffers: BUFFERS, prefetch: register);
        specialize(K % 4 == 0, N % 4 == 0);
        tune COLUMNS in [64, 128] = 64;
        tune STEP in [8, 16] = 16;
        tune BUFFERS in [1, 2] = 1;
        pin(N, K);
    }
}

schedule! {
    /// Large products: 128x128 per workgroup of 128, 16x8 per invocation, 8 steps of k at a time, which is faster than 16. The sizes are
    /// specialization constants.
    pub TILES_128X128: matmul for nvidia_hopper {
        apply parts::matrices::TILES<ROWS = ROWS, COLUMNS = COLUMNS, STEP = STEP, TALL = 16>;
        pipeline(k_o, buffers: 1, prefetch: register);
        specialize(M % 128 == 0, N % 128 == 0, K % 16 == 0);
        specialize(K % 4 == 0, N % 4 == 0);
        tune ROWS in [64, 128] = 128;
        tune COLUMNS in [64, 128, 256] = 128;
        tune STEP in [8, 16] = 8;
        pin(N, K);
    }
}

schedule! {
    /// Any sizes: 64x64 per workgroup of 128, 8x4 per invocation. The next steps are prefetched to registers.
    pub ANY: matmul for nvidia_hopper {
        apply parts::matrices::TILES<ROWS = 64, COLUMNS = COLUMNS, STEP = STEP, WIDE = 4>;
        pipeline(k_o, buffers: BUFFERS, prefetch: register);
        specialize(K % 4 == 0, N % 4 == 0);
        tune COLUMNS in [64, 128] = 64;
        tune STEP in [8, 16] = 8;
        tune BUFFERS in [1, 2] = 1;
    }
}

schedule! {
    /// Few results, any sizes: each workgroup adds 256 products for 64x64 results, and a second dispatch adds the partial sums. Load it
    /// first for sizes up to about 1024x1024.
    pub CHUNKS: matmul for nvidia_hopper {
        apply parts::matrices::CHUNKS<ROWS = ROWS, STEP = STEP, WIDE = WIDE, CHUNK = CHUNK>;
        tune ROWS in [32, 64, 128] = 64;
        tune STEP in [8, 16] = 16;
        tune WIDE in [4, 8] = 4;
        tune CHUNK in [128, 256, 512] = 256;
    }
}

schedule! {
    /// [`CHUNKS`] for very few results and very long sums.
    pub SPLIT_K: matmul for nvidia_hopper {
        apply parts::matrices::CHUNKS<ROWS = ROWS, COLUMNS = ROWS, WIDE = WIDE, CHUNK = CHUNK>;
        tune ROWS in [32, 64] = 64;
        tune WIDE in [4, 8] = 4;
        tune CHUNK in [128, 256, 512] = 128;
    }
}
