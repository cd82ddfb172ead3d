//! Further products of f16 on matrix units: of many pairs, with results or accumulation in f16, and with an epilogue. Not yet run
//! on such a device.

use crate::kernels::{batched_matmul_f16, matmul_f16_residual, matmul_f16_rounded, matmul_f16_sums};
use crate::parts;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Any sizes: 64x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BATCHED: batched_matmul_f16 for intel_xe2 {
        tile(n: 1, i: 64 round_up, j: 64 round_up) => workgroup(z, y, x);
        apply parts::matrices::FILLED<ROWS = 32, A = 8>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Accumulation in f32 and a result in f16, for any sizes: 64x64 per workgroup of 4 subgroups. The sums go through shared
    /// memory, and are rounded when they are written.
    pub ROUNDED: matmul_f16_rounded for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}

schedule! {
    /// Accumulation in f16, for any sizes: 64x64 per workgroup of 4 subgroups. The accumulators need half the registers and half
    /// the shared memory.
    pub SUMS: matmul_f16_sums for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}

schedule! {
    /// Bias, ReLU and residual are applied when the result is written. For any sizes: 64x64 per workgroup of 4 subgroups.
    pub RESIDUAL: matmul_f16_residual for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}
