//! Attention on matrix units, in one dispatch. The schedules that apply these lists decompose the reductions and tile the rows of a
//! workgroup. A subgroup has `ROWS` rows of these.

use tilewright::schedule;

schedule! {
    /// Keys and values of a block in shared memory. The next block is prefetched by `pipeline`.
    pub BLOCKS {
        promote(value => v_s, at: j_o, to: shared, row_pad: 8);
        promote(key => k_s, at: j_o, to: shared, row_pad: 8);
    }
}

schedule! {
    /// [`BLOCKS`], and the queries in fragments.
    pub STAGED {
        apply BLOCKS;
        promote(query => q_f, at: workgroup, to: fragment);
    }
}

schedule! {
    /// The maximum and the sum of a row stay in fragments, and the weights become a factor without a copy.
    pub FRAGMENTS<ROWS = 32> {
        reorder(j_o, i, e);
        tile(i: ROWS) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: fragment);
        compute_at(rounded, j_o, to: fragment);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: fragment);
        compute_at(product, j_o, to: fragment);
        apply STAGED;
        product { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 16 x 16); unroll(d); }
        block_largest, block_total { tile(i: ROWS) => subgroup(x); fragment(i, j, 16 x 16, by: matrix); }
        weight, rounded { tile(i: ROWS) => subgroup(x); fragment(i, j, 16 x 16); }
        block_output { tile(i: ROWS) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 16 x 16); unroll(j); }
        fragment(i, e, 16 x 16);
    }
}

schedule! {
    /// The maximum of a row goes through shared memory, in parts of 8 scores. The sum stays in fragments.
    pub LARGEST<ROWS = 32> {
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        apply STAGED;
        product { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, 16 x 8 x 16); unroll(d); }
        block_largest { split(j, [_, 8] => j_r, j); rfactor(j => part_largest); tile(i: ROWS) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { tile(i: ROWS) => subgroup(x); fragment(i, j, 16 x 8, by: shared); }
        part_largest { tile(i: ROWS) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 8); unroll(j_r); }
    }
}

schedule! {
    /// [`LARGEST`], with the weights in shared memory, `KEYS` keys at a time.
    pub SLICES<ROWS = 32, KEYS = 32> {
        reorder(j_o, i, e);
        tile(i: ROWS) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: fragment);
        compute_at(rounded, j_o, to: fragment);
        compute_at(weight, j_o, to: fragment);
        apply LARGEST<ROWS = ROWS>;
        weight, rounded, p_s { tile(i: ROWS) => subgroup(x); fragment(i, j, 16 x 8); }
        block_output {
            tile(i: ROWS) => subgroup(x);
            tile(j: KEYS => j_p);
            reorder(j_p, j, i, e);
            promote(rounded => p_s, at: j_p, to: shared, row_pad: 8);
            mma(i, e, j, 16 x 8 x 16);
            unroll(j_p, j);
        }
        fragment(i, e, 16 x 8);
    }
}

schedule! {
    /// [`LARGEST`], with the weights of a whole block in shared memory.
    pub WEIGHTS<ROWS = 16> {
        reorder(j_o, i, e);
        tile(i: ROWS) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: fragment);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        apply LARGEST<ROWS = ROWS>;
        weight, rounded { tile(i: ROWS) => subgroup(x); fragment(i, j, 16 x 8); }
        block_output { tile(i: ROWS) => subgroup(x); reorder(j, i, e); mma(i, e, j, 16 x 8 x 16); unroll(j); }
        fragment(i, e, 16 x 8);
    }
}

schedule! {
    /// The maximum, the sum and the weights go through shared memory. Matrices have `A` rows, `B` columns and `DEPTH` items. The
    /// schedules make fragments of the output.
    pub SUMS<ROWS = 16, A = 16, B = 8, DEPTH = 16> {
        reorder(j_o, i, e);
        tile(i: ROWS) => subgroup(x);
        serial(j_o);
        compute_at(block_output, j_o, to: fragment);
        compute_at(block_total, j_o, to: shared);
        compute_at(part_total, j_o, to: shared);
        compute_at(rounded, j_o, to: shared, row_pad: 8);
        compute_at(weight, j_o, to: fragment);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared);
        compute_at(product, j_o, to: fragment);
        product { tile(i: ROWS) => subgroup(x); reorder(d, i, j); mma(i, j, d, A x B x DEPTH); }
        block_largest { split(j, [_, B] => j_r, j); rfactor(j => part_largest); tile(i: ROWS) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        block_total { split(j, [_, B] => j_r, j); rfactor(j => part_total); tile(i: ROWS) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        part_largest, part_total { tile(i: ROWS) => subgroup(x); reorder(j_r, i, j); fragment(i, j, A x B); unroll(j_r); }
        weight, rounded { tile(i: ROWS) => subgroup(x); fragment(i, j, A x B); }
        block_output { tile(i: ROWS) => subgroup(x); reorder(j, i, e); mma(i, e, j, A x B x DEPTH); }
    }
}

schedule! {
    /// For [`SUMS`]: the queries in shared memory, and the output written through it, so that the number of rows is free.
    pub ANY_ROWS {
        promote(query => q_s, at: workgroup, to: shared, row_pad: 8);
        promote(output => o_s, at: workgroup, to: shared);
    }
}

schedule! {
    /// Prefetches the values while scores are computed, and the keys after that. Products are unrolled.
    pub PREFETCHED {
        pipeline(j_o, v_s, buffers: 1, prefetch: register, fetch: start, store: after product);
        pipeline(j_o, k_s, buffers: 1, prefetch: register, fetch: after product, store: end);
        product { unroll(d); }
        block_output { unroll(j); }
    }
}

schedule! {
    /// [`SUMS`] with the queries in fragments, prefetched.
    pub STAGED_SUMS<ROWS = 16, A = 16, B = 8> {
        apply SUMS<ROWS = ROWS, A = A, B = B>;
        apply STAGED;
        apply PREFETCHED;
        fragment(i, e, A x B);
    }
}

schedule! {
    /// [`SUMS`] for any number of rows, prefetched.
    pub ANY_ROWS_SUMS<ROWS = 16, A = 16, B = 8> {
        apply SUMS<ROWS = ROWS, A = A, B = B>;
        apply ANY_ROWS;
        apply BLOCKS;
        apply PREFETCHED;
        fragment(i, e, A x B);
    }
}
