//! Matrix multiply with alpha and beta, in place.

use crate::kernels::sgemm;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over 32 columns, eight rows of four columns each.
    pub ROWS_8: sgemm for mesa_lavapipe where M % 8 == 0, N % 32 == 0, K % 4 == 0 {
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
    }
}

schedule! {
    /// For any size: whole tiles run, and elements out of bounds are not written.
    pub ROWS_8_ANY: sgemm for mesa_lavapipe {
        tile(i: 8, j: 32) => workgroup(y, x);
        tile(j: 4) => thread(x);
        reorder(k, i, j);
        unroll(i);
        vectorize(j, 4, unaligned: scalar);
    }
}
