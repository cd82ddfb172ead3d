//! Attention in one dispatch.

use tilewright::schedule;

schedule! {
    /// The scores of a block of `BLOCK` keys are in shared memory, and the sums of the output in registers. A workgroup has `ROWS`
    /// queries. An invocation has `EACH` x 4 elements of the output, and `EACH` x `KEYS` scores.
    pub SHARED<ROWS = 64, BLOCK = 32, EACH = 4, KEYS = 2> {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: BLOCK);
        tile(b: 1, i: ROWS) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: EACH, e: 4) => thread(y, x);
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
        score { tile(i: EACH, j: KEYS) => thread(y, x); reorder(d, i, j); unroll(i, j); }
    }
}

schedule! {
    /// [`SHARED`] with the queries in shared memory.
    pub SHARED_QUERIES<ROWS = 64, BLOCK = 32, EACH = 4, KEYS = 2> {
        apply SHARED<ROWS = ROWS, BLOCK = BLOCK, EACH = EACH, KEYS = KEYS>;
        promote(query => q_s, at: workgroup, to: shared, row_pad: 4);
    }
}

schedule! {
    /// Scores stay in registers, and the weights of a block of `BLOCK` keys are in shared memory. A workgroup has `ROWS` queries. An
    /// invocation has `EACH` x 4 elements of the output, and `EACH` x `BLOCK / 16` scores, whose keys are 16 apart, so that adjacent
    /// invocations read adjacent rows of the keys. Products read four elements of a row at a time.
    pub SCORES<ROWS = 32, BLOCK = 64, EACH = 4> {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: BLOCK);
        tile(b: 1, i: ROWS) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: EACH, e: 4) => thread(y, x);
        unroll(i, e);
        serial(j_o);
        compute_at(block_output, j_o, to: register);
        compute_at(block_total, j_o, to: shared);
        compute_at(weight, j_o, to: shared, row_pad: 4);
        compute_at(block_largest, j_o, to: shared);
        compute_at(part_largest, j_o, to: shared, row_pad: 1);
        compute_at(score, j_o, to: register);
        promote(value => v_s, at: j_o, to: shared);
        promote(key => k_s, at: j_o, to: shared, row_pad: 4);
        pipeline(j_o, buffers: 1, prefetch: register);
        block_output { tile(j: 8 => j_q); reorder(j_q, j, i, e); unroll(j, i); vectorize(e, 4); }
        score, weight { split(j, [BLOCK / 16, 16] => j_r, j_t); tile(i: EACH) => thread(y); distribute(j_t => thread(x)); }
        score { tile(d: 4 => d_o); reorder(d_o, d, i, j_r); unroll(d, i, j_r); }
        weight { unroll(i, j_r); }
        block_largest {
            split(j, [BLOCK / 16, 16] => j_r, j_t);
            rfactor(j_t => part_largest);
            fuse(b, i => t);
            distribute(t => thread(linear));
            unroll(j_t);
        }
        part_largest { tile(i: EACH) => thread(y); distribute(j_t => thread(x)); unroll(i, j_r); }
        block_total { fuse(b, i => t); distribute(t => thread(linear)); unroll(j); }
    }
}

schedule! {
    /// Everything of an invocation's four rows is in registers: the scores of `BLOCK` keys, the state, and four elements of the output
    /// at a time. A workgroup has 32 rows.
    pub REGISTERS<BLOCK = 4> {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: BLOCK);
        tile(b: 1, i: 32) => workgroup(y, x);
        reorder(j_o, i, e);
        tile(i: 4) => thread(x);
        tile(e: 4 => e_o);
        reorder(j_o, e_o, i, e);
        unroll(e_o, i);
        vectorize(e, 4);
        serial(j_o);
        compute_at(block_output, e_o, to: register);
        compute_at(block_total, j_o, to: register);
        compute_at(weight, j_o, to: register);
        compute_at(block_largest, j_o, to: register);
        compute_at(score, j_o, to: register);
        promote(query => q_r, at: thread, to: register);
        score { tile(d: 4 => d_o); reorder(d_o, j, i, d); unroll(d_o, d, i, j); }
        block_output { reorder(j, i, e); unroll(j, i); vectorize(e, 4); }
        weight, block_largest, block_total { unroll(i, j); }
    }
}
