//! Attention on matrix units, in one dispatch: scores, weights and the output's sums stay in fragments, and values per row go
//! through shared memory. The keys and values of the next block are prefetched while the current block is computed. Not yet run on
//! such a device.

use crate::kernels::{attention_grouped, attention_mixed, causal_attention_mixed};
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// 64 queries per workgroup of four subgroups, blocks of 32 keys, any number of rows.
    pub HEADS_64: attention_mixed for amd_rdna3 where D == 64, E == 64, M % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, i: 64) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
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
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        promote(query => q_s, at: workgroup, to: shared, row_pad: 8);
        promote(output => o_s, at: workgroup, to: shared);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest { split(j, [_, 16] => j_r, j); rfactor(j => part_largest); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 16] => j_r, j); rfactor(j => part_total); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}

schedule! {
    /// 64 queries per workgroup of four subgroups, blocks of 64 keys, for heads of 128 elements.
    pub HEADS_128: attention_mixed for amd_rdna3 where D == 128, E == 128, M % 64 == 0, N % 64 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
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
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        promote(query => q_f, at: workgroup, to: fragment);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest { split(j, [_, 16] => j_r, j); rfactor(j => part_largest); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 16] => j_r, j); rfactor(j => part_total); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}

schedule! {
    /// Causal: 64 queries per workgroup of four subgroups, blocks of 64 keys up to the key of the workgroup's last row.
    pub CAUSAL_64: causal_attention_mixed for amd_rdna3 where D == 64, E == 64, N % 64 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 16) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        promote(query => q_f, at: workgroup, to: fragment);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest { split(j, [_, 16] => j_r, j); rfactor(j => part_largest); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 16] => j_r, j); rfactor(j => part_total); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}

schedule! {
    /// Causal [`HEADS_128`].
    pub CAUSAL_128: causal_attention_mixed for amd_rdna3 where D == 128, E == 128, N % 64 == 0, finite(value) {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 64);
        tile(b: 1, i: 64) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 16) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        promote(query => q_f, at: workgroup, to: fragment);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest { split(j, [_, 16] => j_r, j); rfactor(j => part_largest); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 16] => j_r, j); rfactor(j => part_total); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}

schedule! {
    /// [`HEADS_64`] of grouped queries.
    pub GROUPED_64: attention_grouped for amd_rdna3 where D == 64, E == 64, M % 32 == 0 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 32);
        tile(b: 1, h: 1, g: 1, i: 64) => workgroup(z, y, y, x);
        tile(i: 16) => subgroup(x);
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
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
        promote(query => q_s, at: workgroup, to: shared, row_pad: 8);
        promote(output => o_s, at: workgroup, to: shared);
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { tile(i: 16) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest { split(j, [_, 16] => j_r, j); rfactor(j => part_largest); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, 16] => j_r, j); rfactor(j => part_total); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        weight, rounded { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: 16) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}
