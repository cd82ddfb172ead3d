//! Products of halves with sums in f32. From Mesa 26 on.

use crate::kernels::matmul_f16;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// On matrix units, any sizes: a tile for each workgroup of 4 subgroups, whose result leaves through shared memory.
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
    /// Without matrix units, which the driver makes of many instructions: eight invocations over 32 columns, 64 rows of four columns each,
    /// row by row. What is held of `b` serves them all, and the sizes are the driver's to know.
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
    /// [`ROWS_64`] with 32 rows each.
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
