//! Attention of few queries: the keys of a head are split among workgroups, because one query is too little work for a core (Dao and
//! others, *Flash-Decoding for long-context inference*, 2023).

use tilewright::schedule;

schedule! {
    /// The parts. A workgroup is one subgroup of `LANES`, which has one query, and `CHUNK` blocks of `BLOCK` keys. Each of its invocations has
    /// `EACH` elements of a head. The largest product, the total and the output so far of each part of the keys are stored. A second dispatch,
    /// whose loops are the other lists', combines them.
    pub SPLIT<BLOCK = 8, CHUNK = 8, EACH = 4, LANES = 32> {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: BLOCK);
        output { split(j_o, [_, CHUNK] => j_s, j_o); rfactor(j_s => part); }
        part {
            distribute(j_s, b, i => workgroup(x, y, z));
            split(e, [LANES, EACH] => e_t, e);
            distribute(e_t => thread(x));
            reorder(j_o, e);
            vectorize(e, EACH);
            compute_at(block_output, j_o, to: register);
            compute_at(block_total, j_o, to: register);
            compute_at(weight, j_o, to: register);
            compute_at(block_largest, j_o, to: register);
            compute_at(product, j_o, to: register);
            promote(query => q_r, at: workgroup, to: register);
        }
        q_r { split(d, [LANES, EACH] => d_t, d); distribute(d_t => thread(x)); vectorize(d, EACH); }
        product {
            split(d, [LANES, EACH] => d_t, d);
            distribute(d_t => thread(x), by: subgroup);
            reorder(j, d_t, d);
            unroll(j, d);
        }
        block_output { reorder(j, e); unroll(j); vectorize(e, EACH); }
        weight, block_largest, block_total { unroll(j); }
    }
}

schedule! {
    /// [`SPLIT`], which a workgroup for each query combines, `PARTS` at a time.
    pub KEYS<BLOCK = 8, CHUNK = 8, EACH = 4, LANES = 32, PARTS = 8> {
        apply SPLIT<BLOCK = BLOCK, CHUNK = CHUNK, EACH = EACH, LANES = LANES>;
        output {
            distribute(b, i => workgroup(x, y));
            split(e, [LANES, EACH] => e_t, e);
            distribute(e_t => thread(x));
            vectorize(e, EACH);
            tile(j_s: PARTS => j_r);
            distribute(j_s => thread(y), by: tree);
        }
    }
}

schedule! {
    /// [`SPLIT`] with the keys and values of a block in shared memory. The next block is prefetched to registers. The second dispatch has
    /// `SLICES` workgroups per query, and loads four parts at once.
    pub STAGED<BLOCK = 8, CHUNK = 16, EACH = 4, LANES = 32, PARTS = 8, SLICES = 4> {
        apply SPLIT<BLOCK = BLOCK, CHUNK = CHUNK, EACH = EACH, LANES = LANES>;
        output {
            split(e, [SLICES, _] => e_o, e);
            distribute(b, i, e_o => workgroup(x, y, z));
            distribute(e => thread(x));
            split(j_s, [_, 4, PARTS] => j_r, j_u, j_s);
            distribute(j_s => thread(y), by: tree);
            unroll(j_u);
        }
        part {
            promote(key => k_s, at: j_o, to: shared);
            promote(value => v_s, at: j_o, to: shared);
            pipeline(j_o, buffers: 1, prefetch: register);
        }
    }
}
