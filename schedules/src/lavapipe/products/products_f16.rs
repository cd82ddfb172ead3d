//! Further products of f16 on matrix units: of many pairs, with results or accumulation in f16, and with an epilogue. For Mesa 26
//! and later.

use crate::kernels::{batched_matmul_f16, matmul_f16_residual, matmul_f16_rounded, matmul_f16_sums};
use crate::parts;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// Any sizes: 32x32 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BATCHED: batched_matmul_f16 for mesa_lavapipe_26 {
        tile(n: 1, i: 32 round_up, j: 32 round_up) => workgroup(z, y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8>;
    }
}

schedule! {
    /// Accumulation in f32 and a result in f16, for any sizes: 32x32 per workgroup of 4 subgroups. The sums go through shared
    /// memory, and are rounded when they are written.
    pub ROUNDED: matmul_f16_rounded for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8>;
    }
}

schedule! {
    /// Accumulation in f16, for any sizes: 32x32 per workgroup of 4 subgroups. The accumulators need half the registers and half
    /// the shared memory.
    pub SUMS: matmul_f16_sums for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8>;
    }
}

schedule! {
    /// Bias, ReLU and residual are applied when the result is written. For any sizes: 32x32 per workgroup of 4 subgroups.
    pub RESIDUAL: matmul_f16_residual for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8>;
    }
}
