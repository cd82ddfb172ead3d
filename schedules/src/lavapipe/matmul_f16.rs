//! Products of halves with sums in f32, on matrix units. From Mesa 26 on.

use crate::kernels::matmul_f16;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// Any sizes: a tile for each workgroup of 4 subgroups, whose result leaves through shared memory.
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
