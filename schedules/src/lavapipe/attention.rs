//! Attention in one dispatch, a row an invocation, with all that it needs in registers: what eight rows read of keys and values is the same,
//! and one access.

use crate::kernels::{attention, causal_attention};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight rows a workgroup, four keys at a time.
    pub ROWS: attention<T = f32> for mesa_lavapipe where D == 64, E == 64, M % 4 == 0, N % 8 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 4);
        tile(b: 1, i: 8) => workgroup(y, x);
        reorder(j_o, e);
        distribute(i => thread(x));
        unroll(e);
        serial(j_o);
        compute_at(block_output, e, to: register);
        compute_at(block_total, j_o, to: register);
        compute_at(weight, j_o, to: register);
        compute_at(block_largest, j_o, to: register);
        compute_at(score, j_o, to: register);
        promote(query => q_r, at: thread, to: register);
        score { reorder(d, j); unroll(d, j); }
        weight, block_largest, block_total, block_output { unroll(j); }
    }
}

schedule! {
    /// The same for any number of rows and keys.
    pub ROWS_ANY: attention<T = f32> for mesa_lavapipe where D == 64, E == 64 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 4);
        tile(b: 1, i: 8) => workgroup(y, x);
        reorder(j_o, e);
        distribute(i => thread(x));
        unroll(e);
        serial(j_o);
        compute_at(block_output, e, to: register);
        compute_at(block_total, j_o, to: register);
        compute_at(weight, j_o, to: register);
        compute_at(block_largest, j_o, to: register);
        compute_at(score, j_o, to: register);
        promote(query => q_r, at: thread, to: register);
        score { reorder(d, j); unroll(d, j); }
        weight, block_largest, block_total, block_output { unroll(j); }
    }
}

schedule! {
    /// Eight rows a workgroup, four keys at a time, up to the last row's own.
    pub CAUSAL_ROWS: causal_attention<T = f32> for mesa_lavapipe where D == 64, E == 64 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 4);
        tile(b: 1, i: 8) => workgroup(y, x);
        reorder(j_o, i, e);
        distribute(i => thread(x));
        unroll(e);
        serial(j_o);
        compute_at(block_output, e, to: register);
        compute_at(block_total, j_o, to: register);
        compute_at(weight, j_o, to: register);
        compute_at(block_largest, j_o, to: register);
        compute_at(score, j_o, to: register);
        promote(query => q_r, at: thread, to: register);
        score { reorder(d, j); unroll(d, j); }
        weight, block_largest, block_total, block_output { unroll(j); }
    }
}
