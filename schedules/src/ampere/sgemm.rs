//! Matrix multiply with alpha and beta, in place.

use crate::kernels::sgemm;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any size: 128x128 per workgroup of 256, through shared memory. An invocation has 8x8 results, as 2x2 blocks of 4x4, so that
    /// adjacent invocations read adjacent elements.
    pub SGEMM: sgemm for nvidia_ampere {
        tile(i: 128 round_up, j: 128 round_up) => workgroup(y, x);
        tile(k: 8 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared, fill: 0.0, row_pad: 4);
        promote(b => b_s[k, j], at: k_o, to: shared, fill: 0.0);
        split(i, [2, 16, 4] => i_r, i_t, i_v);
        split(j, [2, 16, 4] => j_r, j_t, j_v);
        distribute(i_t, j_t => thread(y, x));
        promote(a_s => a_r[i_r, i_v], at: k, to: register);
        promote(b_s => b_r[j_r, j_v], at: k, to: register);
        unroll(k, i_r, i_v, j_r);
        vectorize(j_v, 4, unaligned: scalar);
        specialize(K % 4 == 0, N % 4 == 0);
    }
}
