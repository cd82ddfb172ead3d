//! Further products of f16 on matrix units: of many pairs, with results or accumulation in f16, and with an epilogue.

use crate::kernels::{batched_matmul_f16, matmul_f16_residual, matmul_f16_rounded, matmul_f16_sums};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BATCHED: batched_matmul_f16 for nvidia_hopper {
        tile(n: 1, i: 128 round_up, j: 64 round_up) => workgroup(z, y, x);
        apply parts::matrices::FILLED;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Whole tiles of 128x128. The sizes are specialization constants.
    pub BATCHED_128X128: batched_matmul_f16 for nvidia_hopper where M % 128 == 0, N % 128 == 0, K % 64 == 0 {
        tile(n: 1, i: 128, j: 128) => workgroup(z, y, x);
        apply parts::matrices::WHOLE;
        pin(M, N, K);
    }
}

schedule! {
    /// Accumulation in f32 and a result in f16, for any sizes: 128x64 per workgroup of 4 subgroups. The sums go through shared
    /// memory, and are rounded when they are written.
    pub ROUNDED: matmul_f16_rounded for nvidia_hopper {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups. The sums are rounded in
    /// fragments.
    pub ROUNDED_128X128: matmul_f16_rounded for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS;
        pin(N, K);
    }
}

schedule! {
    /// Accumulation in f16, for any sizes: 128x64 per workgroup of 4 subgroups. The accumulators need half the registers and half
    /// the shared memory.
    pub SUMS: matmul_f16_sums for nvidia_hopper {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups.
    pub SUMS_128X128: matmul_f16_sums for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS;
        pin(N, K);
    }
}

schedule! {
    /// Bias, ReLU and residual are applied when the result is written. For any sizes: 128x64 per workgroup of 4 subgroups.
    pub RESIDUAL: matmul_f16_residual for nvidia_hopper {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups. Bias, ReLU and residual are
    /// applied in fragments.
    pub RESIDUAL_128X128: matmul_f16_residual for nvidia_hopper where M % 1024 == 0, N % 128 == 0, K % 64 == 0 {
        apply parts::matrices::BANDS;
        pin(N, K);
    }
}
