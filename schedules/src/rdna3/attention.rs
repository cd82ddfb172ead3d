//! Attention in one dispatch: the scores of a block of keys are in shared memory, and the output's sums in registers. Each block
//! rescales the sums to the largest score so far. Not run on such a device.

use crate::kernels::{attention, causal_attention};
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// 32 queries per workgroup, blocks of 32 keys; an invocation has 4x4 of the output and 4x2 of the scores.
    pub F32: attention<T = f32> for amd_rdna3 where D == 64, E == 64 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: 4, e: 4) => thread(y, x);
        reorder(j_o, i, e);
        unroll(i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: register);
        compute_at(block_total, j_o, to: shared);
        compute_at(weight, j_o, to: shared, row_pad: 4);
        compute_at(block_largest, j_o, to: shared);
        compute_at(score, j_o, to: shared, row_pad: 4);
        promote(value => v_s, at: j_o, to: shared);
        promote(key => k_s, at: j_o, to: shared, row_pad: 4);
        block_output { reorder(j, i, e); unroll(i); vectorize(e, 4); }
        score { tile(i: 4, j: 2) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }
}

schedule! {
    /// 32 queries per workgroup, blocks of 32 keys; an invocation has 4x4 of the output and 4x2 of the scores. Products and sums of
    /// f16 items are computed in f32.
    pub F16: attention<T = f16> for amd_rdna3 where D == 64, E == 64 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: 4, e: 4) => thread(y, x);
        reorder(j_o, i, e);
        unroll(i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: register);
        compute_at(block_total, j_o, to: shared);
        compute_at(weight, j_o, to: shared, row_pad: 4);
        compute_at(block_largest, j_o, to: shared);
        compute_at(score, j_o, to: shared, row_pad: 4);
        promote(value => v_s, at: j_o, to: shared);
        promote(key => k_s, at: j_o, to: shared, row_pad: 4);
        promote(query => q_s, at: workgroup, to: shared, row_pad: 4);
        block_output { reorder(j, i, e); unroll(i); vectorize(e, 4); }
        score { tile(i: 4, j: 2) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }
}

schedule! {
    /// Causal, with 64 rows per workgroup. The blocks of a workgroup end with the key of its last row.
    pub CAUSAL_F32: causal_attention<T = f32> for amd_rdna3 where D == 64, E == 64 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 64) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 4, e: 4) => thread(y, x);
        unroll(i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: register);
        compute_at(block_total, j_o, to: shared);
        compute_at(weight, j_o, to: shared, row_pad: 4);
        compute_at(block_largest, j_o, to: shared);
        compute_at(score, j_o, to: shared, row_pad: 4);
        promote(value => v_s, at: j_o, to: shared);
        promote(key => k_s, at: j_o, to: shared, row_pad: 4);
        block_output { reorder(j, i, e); unroll(i); vectorize(e, 4); }
        score { tile(i: 4, j: 2) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }
}
