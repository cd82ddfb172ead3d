//! Products in which each element of a large matrix is used only a few times. Reading the matrix takes most of the time, so all invocations
//! read it from device memory, and add their products in the end.

use tilewright::schedule;

schedule! {
    /// A row of `a` times a matrix of f16: 32 columns per workgroup of 1024. Four adjacent invocations read 8 adjacent columns each, and 256
    /// rows of `b` are read at once, `STEPS` times before the products. The sums of a column are added by a subgroup.
    pub ROW<STEPS = 4> {
        split(k, [_, STEPS, 256] => k_o, k_u, k_t);
        rfactor(k_t => part);
        split(j, [_, 32] => j_o, j);
        distribute(i, j_o => workgroup(y, x));
        compute_at(part, workgroup, to: shared, row_pad: 1);
        part {
            split(j, [4, 2, 4] => j_t, j_v, j);
            fuse(k_t, j_t => t);
            distribute(t => thread(linear));
            reorder(k_o, k_u, j_v, j);
            promote(b => b_r, at: k_u, to: register);
            unroll(k_u, j_v);
            vectorize(j, 4, unaligned: scalar);
        }
        split(k_t, [8, 32] => k_v, k_t);
        distribute(j => thread(y));
        distribute(k_t => thread(x), by: subgroup);
        unroll(k_v);
        specialize(N % 32 == 0, K % 1024 == 0);
        specialize(N % 8 == 0);
    }
}

schedule! {
    /// `ROWS` rows of `a` times a matrix of f16. `LANES` adjacent invocations read 4 adjacent columns each, and `256 / LANES` rows of `b`
    /// are read at once.
    pub ROWS<ROWS = 8, LANES = 8, STEPS = 2> {
        tile(i: ROWS round_up, j: LANES * 4 round_up) => workgroup(y, x);
        split(j, [_, 4] => j_t, j);
        distribute(j_t => thread(x));
        split(k, [_, STEPS, 256 / LANES] => k_o, k_u, k_t);
        distribute(k_t => thread(y), by: tree);
        reorder(k_o, k_u, i, j);
        unroll(k_u, i);
        vectorize(j, 4, unaligned: scalar);
        specialize(N % 4 == 0);
    }
}

schedule! {
    /// On matrix units, up to `ROWS` rows of `a`, 32 columns per workgroup. Each of `SUBGROUPS` subgroups copies its own `STEP` rows of `b` to
    /// shared memory, so that it waits for no other subgroup. The next ones are prefetched to registers. The sums of the subgroups are
    /// added in shared memory, `SLICE` columns at a time.
    pub STREAMED<ROWS = 16, SLICE = 8, SUBGROUPS = 8, STEP = 32, PAD = 8> {
        split(k, [_, SUBGROUPS, STEP] => k_o, k_s, k);
        rfactor(k_s => part);
        tile(i: ROWS round_up, j: 32) => workgroup(y, x);
        split(j, [32 / SLICE, SLICE] => j_o, j);
        reorder(j_o, i, j);
        compute_at(part, workgroup, to: fragment);
        part {
            distribute(k_s => subgroup(x));
            reorder(k_o, k, i, j);
            promote(a => a_s[k_s, i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            promote(b => b_s[k_s, k, j], at: k_o, to: shared, row_pad: PAD);
            pipeline(k_o, buffers: 1, prefetch: register);
        }
        a_s { distribute(k_s => subgroup(x)); vectorize(k, 8); fuse(i, k => t); }
        b_s { distribute(k_s => subgroup(x)); vectorize(j, 8); fuse(k, j => t); }
        a_s, b_s { tile(t: 32 => t_r); distribute(t => lane(x)); unroll(t_r); }
        apply ADDED;
    }
}

schedule! {
    /// The end of products whose subgroups have partial sums, `part`: they go through shared memory, a slice of columns, `j_o`, at a time. An
    /// invocation adds the partial sums of four adjacent results.
    pub ADDED {
        promote(part => p_s, at: j_o, to: shared);
        p_s { distribute(k_s => subgroup(x)); }
        unroll(j_o);
        split(j, [_, 4] => j_t, j);
        fuse(i, j_t => t);
        distribute(t => thread(x));
        reorder(k_s, j);
        unroll(k_s);
        vectorize(j, 4);
    }
}

schedule! {
    /// [`STREAMED`] for up to 16 rows.
    pub ROWS_16<SUBGROUPS = 8, STEP = 32> {
        apply STREAMED<SUBGROUPS = SUBGROUPS, STEP = STEP>;
        part { mma(i, j, k, 16 x 8 x 16); unroll(k); }
        p_s { fragment(i, j, 16 x 8); }
    }
}

schedule! {
    /// [`STREAMED`] for up to 8 rows, which are the columns of the matrices. The copies of `b` are not padded, because bank conflicts cost
    /// less than a smaller `STEP`.
    pub ROWS_8<SUBGROUPS = 8, STEP = 64, PAD = 0> {
        apply STREAMED<ROWS = 8, SLICE = 16, SUBGROUPS = SUBGROUPS, STEP = STEP, PAD = PAD>;
        part { mma(j, i, k, 16 x 8 x 16); unroll(k); }
        p_s { fragment(j, i, 16 x 8); }
    }
}

schedule! {
    /// A matrix times a vector: `ROWS` rows per workgroup of `WIDTH` invocations, which read `EACH` adjacent elements each, `STEPS` times.
    pub VECTOR<ROWS = 1, STEPS = 2, WIDTH = 256, EACH = 4> {
        tile(i: ROWS round_up) => workgroup(x);
        split(k, [_, STEPS, WIDTH, EACH] => k_o, k_u, k_t, k);
        distribute(k_t => thread(x), by: subgroup);
        reorder(k_o, k_u, i, k);
        promote(a => a_r, at: i, to: register);
        promote(x => x_r, at: k_u, to: register);
        unroll(k_u, i, k);
        specialize(K % EACH == 0);
    }
}
