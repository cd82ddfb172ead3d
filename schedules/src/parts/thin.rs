//! Products in which each element of a large matrix is used only a few times. Reading the matrix takes most of the time, so all invocations
//! read it from device memory, and add their products in the end.

use tilewright::schedule;

schedule! {
    /// A row of `a` times a matrix of f16. `LANES` adjacent invocations read 8 adjacent columns each, and `1024 / LANES` rows of `b` are
    /// read at once.
    pub ROW<LANES = 4, STEPS = 4> {
        split(j, [_, LANES, 2, 4] => j_o, j_t, j_v, j);
        distribute(i, j_o => workgroup(y, x));
        distribute(j_t => thread(x));
        split(k, [_, STEPS, 1024 / LANES] => k_o, k_u, k_t);
        distribute(k_t => thread(y), by: tree);
        reorder(k_o, k_u, j_v, j);
        promote(b => b_r, at: k_u, to: register);
        unroll(k_u, j_v);
        vectorize(j, 4, unaligned: scalar);
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
    /// On matrix units, 16 rows of `a`: `SUBGROUPS` subgroups add the products of a part of `k` each, and their sums are added in shared
    /// memory.
    pub MATRICES<SUBGROUPS = 8, COLUMNS = 32> {
        split(k, [SUBGROUPS, _] => k_s, k);
        rfactor(k_s => part);
        tile(i: 16, j: COLUMNS) => workgroup(y, x);
        compute_at(part, workgroup, to: shared, row_pad: 4);
        part { distribute(k_s => subgroup(x)); reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        split(j, [_, 4] => j_t, j);
        fuse(i, j_t => t);
        distribute(t => thread(x));
        reorder(k_s, j);
        unroll(k_s);
        vectorize(j, 4);
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
