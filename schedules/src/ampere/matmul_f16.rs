//! Products of f16 with accumulation in f32, on matrix units. Not yet run on such a device.

use crate::kernels::matmul_f16;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for nvidia_ampere {
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
