//! Vectors `i`, and their reductions `k`.

use tilewright::schedule;

schedule! {
    /// `EACH` adjacent elements per invocation, `TILE` per workgroup.
    pub ELEMENTS<TILE = 256, EACH = 4> {
        tile(i: TILE) => workgroup(x);
        tile(i: EACH) => thread(x);
        vectorize(i, EACH);
    }
}

schedule! {
    /// A reduction in two dispatches: 16384 elements per workgroup of `T`, four at a time; then one workgroup for the partial results.
    /// Both reduce by trees.
    pub PARTS_BY_TREE<T = 64> {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, T, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: tree);
            unroll(k_v);
        }
        tile(k_o: T => k_r);
        distribute(k_o => thread(x), by: tree);
    }
}
