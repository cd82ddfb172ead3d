//! Attention on matrix units, in one dispatch: scores, weights and the output's sums stay in fragments, and values per row go
//! through shared memory. Keys and values are read directly from device memory.
//!
//! These need Mesa 26, whose matrix units are slow: attention of f32 is many times faster. The schedules exist to test the same
//! structure as on GPUs. Loops of products are not unrolled, because the driver takes minutes to compile long code with matrices.

use crate::kernels::{attention_grouped, attention_mixed, causal_attention_mixed};
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// 32 queries per workgroup of four subgroups, blocks of 16 keys, any number of rows.
    pub HEADS_64: attention_mixed for mesa_lavapipe_26 where D == 64, E == 64, M % 16 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: 8) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        promote(query => q_s, at: workgroup, to: shared, row_pad: 8);
        promote(output => o_s, at: workgroup, to: shared);
        product { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 8] => j_r, j); rfactor(j => part_total); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
        weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
        block_output { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); }
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// 32 queries per workgroup of four subgroups, blocks of 16 keys, for heads of 128 elements.
    pub HEADS_128: attention_mixed for mesa_lavapipe_26 where D == 128, E == 128, M % 16 == 0, N % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        tile(i: 8) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        product { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 8] => j_r, j); rfactor(j => part_total); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
        weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
        block_output { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); }
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// Causal: 32 queries per workgroup of four subgroups, blocks of 16 keys up to the key of the workgroup's last row.
    pub CAUSAL_64: causal_attention_mixed for mesa_lavapipe_26 where D == 64, E == 64, N % 32 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 8) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        product { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 8] => j_r, j); rfactor(j => part_total); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
        weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
        block_output { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); }
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// Causal [`HEADS_128`].
    pub CAUSAL_128: causal_attention_mixed for mesa_lavapipe_26 where D == 128, E == 128, N % 32 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, i: 32) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 8) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        product { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 8] => j_r, j); rfactor(j => part_total); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
        weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
        block_output { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); }
        fragment(i, e, 8 x 8);
    }
}

schedule! {
    /// [`HEADS_64`] of grouped queries.
    pub GROUPED_64: attention_grouped for mesa_lavapipe_26 where D == 64, E == 64, M % 16 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
        tile(b: 1, h: 1, g: 1, i: 32) => workgroup(z, y, y, x);
        tile(i: 8) => subgroup(x);
        reorder(j_o, i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        promote(query => q_s, at: workgroup, to: shared, row_pad: 8);
        promote(output => o_s, at: workgroup, to: shared);
        product { tile(i: 8) => subgroup(x); reorder(d, i, j); mma(i, j, d, 8 x 8 x 8); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 8] => j_r, j); rfactor(j => part_total); tile(i: 8) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 8) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 8 x 8); unroll(j_r); }
        weight, rounded { tile(i: 8) => subgroup(x); fragment(i, j, 8 x 8); }
        block_output { tile(i: 8) => subgroup(x); reorder(j, i, e); mma(i, e, j, 8 x 8 x 8); }
        fragment(i, e, 8 x 8);
    }
}
