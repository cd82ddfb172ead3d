//! Products of bf16 and of 8-bit integers.

use crate::kernels::{matmul_bf16, matmul_i8};
use crate::parts;
use tilewright::devices::{mesa_lavapipe, mesa_lavapipe_26};
use tilewright::schedule;

schedule! {
    /// In vectors of eight adjacent invocations over 32 columns, 64 rows of four columns each, row by row, so that all rows reuse the loaded
    /// part of `b`. The sizes are specialization constants.
    pub BF16_ROWS_64: matmul_bf16 for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 2 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 2>;
        pin(N, K);
    }
}

schedule! {
    /// The same for integers.
    pub I8_ROWS_64: matmul_i8 for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 4 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 4>;
        pin(N, K);
    }
}

schedule! {
    /// On matrix units of Mesa 26, any sizes: one tile per workgroup of 4 subgroups. The result is written through shared memory.
    pub I8_ANY: matmul_i8 for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8, PAD = 16>;
    }
}
