//! Products of halves with sums in f32, on matrix units.

use crate::kernels::matmul_f16;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// x
    pub P1: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        
    }
}

schedule! {
    /// x
    pub P2: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        
    }
}

schedule! {
    /// x
    pub P3: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
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
        
    }
}

schedule! {
    /// x
    pub P4: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
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
        
    }
}

schedule! {
    /// x
    pub P5: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
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
        pin(M, N, K);
    }
}

schedule! {
    /// x
    pub P6: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 256 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 256 => j_o);
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
        
    }
}

schedule! {
    /// x
    pub P7: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 16 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
        split(i_o, [_, 8] => band, i_b);
        reorder(band, j_o, i_b, i, j, k);
        fuse(band, j_o, i_b => w);
        distribute(w => workgroup(x));
        tile(k: 16 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 2, prefetch: register);
        tile(i: 64, j: 64) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        
    }
}

schedule! {
    /// x
    pub P8: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
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
            split(i, [16, 2, 2, 2] => q, x, y, z);
            vectorize(k, 8);
            reorder(q, z, y, x, k);
            fuse(q, z, y, x, k => t);
            split(t, [_, 128] => round, item);
            distribute(item => thread(linear));
            unroll(round);
        }
    }
}

schedule! {
    /// x
    pub P9: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
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
            split(i, [16, 2, 2, 2] => q, x, y, z);
            vectorize(k, 8);
            reorder(q, z, y, x, k);
            fuse(q, z, y, x, k => t);
            split(t, [_, 128] => round, item);
            distribute(item => thread(linear));
            unroll(round);
        }
        pin(M, N, K);
    }
}

schedule! {
    /// x
    pub P10: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
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
        mma(i, j, k, 16 x 8 x 16);
        unroll(k);
        pin(M, N, K);
    }
}

schedule! {
    /// x
    pub P11: matmul_f16 for nvidia_hopper where M % 128 == 0, N % 64 == 0, K % 64 == 0 {
        tile(i: 128, j: 64) => workgroup(y, x);
        tile(k: 64 => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, row_pad: 8);
        pipeline(k_o, buffers: 1, prefetch: register);
        tile(i: 64, j: 32) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
        pin(M, N, K);
    }
}

schedule! {
    /// x
    pub P12: matmul_f16 for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128 => i_o, j: 128 => j_o);
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
        a_s {
            split(i, [16, 2, 2, 2] => q, x, y, z);
            vectorize(k, 8);
            reorder(q, z, y, x, k);
            fuse(q, z, y, x, k => t);
            split(t, [_, 128] => round, item);
            distribute(item => thread(linear));
            unroll(round);
        }
        pin(M, N, K);
    }
}

schedule! {
    /// x
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
