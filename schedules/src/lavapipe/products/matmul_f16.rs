//! Products of f16 with accumulation in f32. Schedules on matrix units need Mesa 26.

use crate::kernels::matmul_f16;
use crate::parts;
use tilewright::devices::{mesa_lavapipe, mesa_lavapipe_26};
use tilewright::schedule;

schedule! {
    /// On matrix units, any sizes: one tile per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for mesa_lavapipe_26 {
        tile(i: ROWS * 2 round_up, j: COLUMNS * 2 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = ROWS, COLUMNS = COLUMNS, STEP = STEP, A = 8, B = 8, DEPTH = 8>;
        tune ROWS in [8, 16, 32] = 32;
        tune COLUMNS in [8, 16, 32] = 16;
        tune STEP in [8, 16, 32] = 8;
    }
}

schedule! {
    /// Without matrix units, because Mesa 26 emulates them by many instructions. Eight invocations over 32 columns, 64 rows of
    /// four columns each, row by row, so that all rows reuse the loaded part of `b`. The sizes are specialization constants.
    pub ROWS_64: matmul_f16 for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 2 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 2>;
        pin(N, K);
    }
}

schedule! {
    /// [`ROWS_64`] with 32 rows per invocation.
    pub ROWS_32: matmul_f16 for mesa_lavapipe where M % 32 == 0, N % 32 == 0, K % 2 == 0 {
        apply parts::matrices::VECTORS<ROWS = 32, COLUMNS = 4, STEP = 2>;
        pin(N, K);
    }
}
