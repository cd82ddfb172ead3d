//! Products of f16 with accumulation in f32. For Mesa 26 and later.

use crate::kernels::matmul_f16;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// On matrix units, any sizes: one tile per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for mesa_lavapipe_26 {
        tile(i: ROWS * 2 round_up, j: COLUMNS * 2 round_up) => workgroup(y, x);
        tile(k: DEPTH round_up => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: ROWS, j: COLUMNS) => subgroup(y, x);
        mma(i, j, k, 8 x 8 x 8);
        unroll(k);
        specialize(K % 8 == 0, N % 8 == 0);
        tune ROWS in [8, 16, 32] = 32;
        tune COLUMNS in [8, 16, 32] = 16;
        tune DEPTH in [8, 16, 32] = 8;
    }
}

schedule! {
    /// Without matrix units, because the driver emulates them by many instructions. Eight invocations over 32 columns, 64 rows of
    /// four columns each, row by row, so that all rows reuse the loaded part of `b`. The sizes are specialization constants.
    pub ROWS_64: matmul_f16 for mesa_lavapipe_26 where M % 64 == 0, N % 32 == 0, K % 2 == 0 {
        tile(i: 64, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        tile(k: 2 => k_o);
        vectorize(j, 4);
        reorder(k_o, i, j, k);
        unroll(i, j, k);
        pin(N, K);
    }
}

schedule! {
    /// [`ROWS_64`] with 32 rows per invocation.
    pub ROWS_32: matmul_f16 for mesa_lavapipe_26 where M % 32 == 0, N % 32 == 0, K % 2 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        tile(k: 2 => k_o);
        vectorize(j, 4);
        reorder(k_o, i, j, k);
        unroll(i, j, k);
        pin(N, K);
    }
}
