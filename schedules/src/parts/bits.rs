//! Products with weights of 4 bits. The weights are read once, and a load of 16 bytes has 32 weights of a column.

use tilewright::schedule;

schedule! {
    /// `ROWS` rows of `a`, and `COLUMNS` columns for each of `SUBGROUPS` subgroups. An invocation reads a part of a column, and adjacent
    /// invocations read adjacent parts. Its elements of `a` stay in registers for all columns.
    pub VECTORS<ROWS = 1, COLUMNS = 4, SUBGROUPS = 4> {
        tile(i: ROWS round_up, j: COLUMNS * SUBGROUPS round_up) => workgroup(y, x);
        split(j, [SUBGROUPS, COLUMNS] => j_y, j);
        distribute(j_y => thread(y));
        split(g, [_, 32] => g_o, g_t);
        distribute(g_t => thread(x), by: subgroup);
        reorder(g_o, j, i);
        compute_at(part, g_o, to: register);
        part {
            reorder(j, t, h, i);
            promote(b => b_r, at: j, to: register);
            unroll(j, t, h, i);
        }
        promote(a => a_r, at: g_o, to: register);
        unroll(j, i);
    }
}

schedule! {
    /// [`VECTORS`] for long rows: an invocation reads `DEEP` parts of each column at once, so that more loads are on the way.
    pub DEEP_VECTORS<COLUMNS = 2, SUBGROUPS = 4, DEEP = 2> {
        tile(j: COLUMNS * SUBGROUPS round_up) => workgroup(x);
        split(j, [SUBGROUPS, COLUMNS] => j_y, j);
        distribute(j_y => thread(y));
        split(g, [_, DEEP, 32] => g_o, g_u, g_t);
        distribute(g_t => thread(x), by: subgroup);
        reorder(g_o, g_u, j);
        compute_at(part, g_u, to: register);
        part {
            reorder(j, t, h);
            promote(b => b_r, at: j, to: register);
            unroll(j, t, h);
        }
        promote(a => a_r, at: g_u, to: register);
        unroll(g_u, j);
    }
}

schedule! {
    /// On matrix units, any number of rows: `ROWS` x `COLUMNS` results for each of two by two subgroups, and `STEP` items at a time. `THREADS`
    /// invocations, all of them, compute the weights in shared memory, 8 for each load of 4 bytes.
    pub TILES<ROWS = 32, COLUMNS = 32, STEP = 64, A = 16, THREADS = 128> {
        tile(i: ROWS * 2 round_up, j: COLUMNS * 2) => workgroup(y, x);
        tile(k: STEP => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        compute_at(weight, k_o, to: shared, row_pad: 8);
        weight {
            vectorize(k, 8);
            fuse(j, k => t);
            tile(t: THREADS => t_r);
            distribute(t => thread(linear));
            unroll(t_r);
        }
        promote(c => c_s, at: workgroup, to: shared, row_pad: 4);
        tile(i: ROWS, j: COLUMNS) => subgroup(y, x);
        mma(i, j, k, A x 16 x 16);
        unroll(k);
    }
}

schedule! {
    /// On matrix units, up to 16 rows of `a`, and 32 columns per workgroup. Each of `SUBGROUPS` subgroups computes its own `STEP` rows of
    /// weights in shared memory, so that it waits for no other subgroup. The sums of the subgroups are added in shared memory.
    pub STREAMED<SUBGROUPS = 8, STEP = 32> {
        split(k, [_, SUBGROUPS, STEP] => k_o, k_s, k);
        rfactor(k_s => part);
        tile(i: 16 round_up, j: 32) => workgroup(y, x);
        split(j, [4, 8] => j_o, j);
        reorder(j_o, i, j);
        compute_at(part, workgroup, to: fragment);
        part {
            distribute(k_s => subgroup(x));
            reorder(k_o, k, i, j);
            promote(a => a_s[k_s, i, k], at: k_o, to: shared, fill: 0.0, row_pad: 8);
            compute_at(weight, k_o, to: shared, row_pad: 8);
            mma(i, j, k, 16 x 8 x 16);
            unroll(k);
        }
        weight {
            split(k, [SUBGROUPS, STEP / 8, 8] => k_s, k_q, k);
            distribute(k_s => subgroup(x));
            vectorize(k, 8);
            fuse(j, k_q => t);
        }
        a_s { distribute(k_s => subgroup(x)); vectorize(k, 8); fuse(i, k => t); }
        weight, a_s { tile(t: 32 => t_r); distribute(t => lane(x)); unroll(t_r); }
        apply super::thin::ADDED;
        p_s { fragment(i, j, 16 x 8); }
    }
}
