//! A schedule with one pass over the keys, so that scores are never in memory.

use crate::kernel::attention;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    /// One pixel for each invocation, with its patch, four scores and its sums in registers. Each block of four keys rescales the
    /// sums to the largest score so far.
    pub ONLINE: attention for vulkan_1_1 where D == 28, E == 3 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 4);
        tile(b: 1, i: 64) => workgroup(y, x);
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
