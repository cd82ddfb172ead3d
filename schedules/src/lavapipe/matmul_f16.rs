//! Products of halves with sums in f32, on matrix units. From Mesa 26 on.

use crate::kernels::matmul_f16;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// Any sizes: 32x32 a workgroup of 4 subgroups, whose result leaves through shared memory.
    pub ANY: matmul_f16 for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        tile(k: 32 round_up => k_o);
        reorder(k_o, k, j, i);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 16, j: 16) => subgroup(y, x);
        mma(i, j, k, 8 x 8 x 8);
        unroll(k);
        specialize(K % 8 == 0, N % 8 == 0);
    }
}
