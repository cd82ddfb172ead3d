//! Attention of few queries: the keys of a head are split among workgroups, because one query is too little work for a core (Dao and
//! others, *Flash-Decoding for long-context inference*, 2023).

use tilewright::schedule;

schedule! {
    /// A workgroup is one subgroup, which has one query, and `CHUNK` blocks of 8 keys. Each of its invocations has `EACH` elements of a head.
    /// The keys and values of a block are in shared memory, and the next block is prefetched to registers. The largest product, the total and
    /// the output so far of each part of the keys are stored. A second dispatch combines them, with `SLICES` workgroups per query, and loads
    /// four parts at once.
    pub KEYS<CHUNK = 16, EACH = 4, SLICES = 4> {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 8);
        output { split(j_o, [_, CHUNK] => j_s, j_o); rfactor(j_s => part); }
        part {
            distribute(j_s, b, i => workgroup(x, y, z));
            split(e, [32, EACH] => e_t, e);
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
        q_r { split(d, [32, EACH] => d_t, d); distribute(d_t => thread(x)); vectorize(d, EACH); }
        product {
            split(d, [32, EACH] => d_t, d);
            distribute(d_t => thread(x), by: subgroup);
            reorder(j, d_t, d);
            unroll(j, d);
        }
        block_output { reorder(j, e); unroll(j); vectorize(e, EACH); }
        weight, block_largest, block_total { unroll(j); }
        output {
            split(e, [SLICES, _] => e_o, e);
            distribute(b, i, e_o => workgroup(x, y, z));
            distribute(e => thread(x));
            split(j_s, [_, 4, 8] => j_r, j_u, j_s);
            distribute(j_s => thread(y), by: tree);
            unroll(j_u);
        }
        part {
            promote(key => k_s, at: j_o, to: shared);
            promote(value => v_s, at: j_o, to: shared);
            pipeline(j_o, buffers: 1, prefetch: register);
        }
        specialize(M % 256 == 0);
    }
}
