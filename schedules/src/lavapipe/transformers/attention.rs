//! Attention in one dispatch, with the state of an invocation's rows in registers. The rows of a workgroup read the same keys and
//! values, so each access serves eight invocations. Mesa 25 is fastest with four rows per invocation, and Mesa 26 with one.

use crate::kernels::{attention, causal_attention};
use crate::parts;
use tilewright::devices::{mesa_lavapipe, mesa_lavapipe_26};
use tilewright::schedule;

schedule! {
    /// 32 rows per workgroup, four keys at a time.
    pub ROWS: attention<T = f32> for mesa_lavapipe where D == 64, E == 64, M % 4 == 0, N % 32 == 0 {
        apply parts::attention::REGISTERS;
    }
}

schedule! {
    /// One row per invocation, eight keys at a time. For Mesa 26 and later, because accesses are cheaper there and registers are
    /// fewer. The sizes are specialization constants.
    pub ROW: attention<T = f32> for mesa_lavapipe_26 where D == 64, E == 64, M % 8 == 0, N % 8 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 8);
        tile(b: 1, i: 8) => workgroup(y, x);
        distribute(i => thread(x));
        tile(e: 4 => e_o);
        reorder(j_o, e_o, e);
        unroll(e_o);
        vectorize(e, 4);
        compute_at(block_output, e_o, to: register);
        compute_at(block_total, j_o, to: register);
        compute_at(weight, j_o, to: register);
        compute_at(block_largest, j_o, to: register);
        compute_at(score, j_o, to: register);
        promote(query => q_r, at: thread, to: register);
        score { tile(d: 4 => d_o); reorder(d_o, j, d); unroll(d_o, d, j); }
        block_output { reorder(j, e); unroll(j); vectorize(e, 4); }
        weight, block_largest, block_total { unroll(j); }
        pin(N, M);
    }
}

schedule! {
    /// [`ROWS`] for any number of rows and keys, three keys at a time.
    pub ROWS_ANY: attention<T = f32> for mesa_lavapipe where D == 64, E == 64 {
        apply parts::attention::REGISTERS<BLOCK = 3>;
    }
}

schedule! {
    /// Causal: 32 rows per workgroup, two keys at a time, up to the key of the workgroup's last row.
    pub CAUSAL_ROWS: causal_attention<T = f32> for mesa_lavapipe where D == 64, E == 64 {
        apply parts::attention::REGISTERS<BLOCK = 2>;
    }
}
