//! Rows of a matrix, one row per workgroup of `WIDTH` invocations. A row consists of `VECTORS` vectors of four elements, in the registers of
//! the invocations, so it is read from memory only once.

use tilewright::schedule;

schedule! {
    /// The row and its elements' distribution, for the stage of the results.
    ROW<VECTORS = 256, WIDTH = 64> {
        tile(i: 1) => workgroup(x);
        split(j, [VECTORS / WIDTH, WIDTH, 4] => j_r, j_t, j);
        distribute(j_t => thread(x));
        unroll(j_r);
        vectorize(j, 4);
    }
}

schedule! {
    /// Softmax.
    pub SOFTMAX<VECTORS = 256, WIDTH = 64> {
        apply ROW<VECTORS = VECTORS, WIDTH = WIDTH>;
        compute_at(total, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [VECTORS / WIDTH, WIDTH, 4] => r, t, v); distribute(t => thread(x)); unroll(r); vectorize(v, 4); }
        largest, total { split(k, [VECTORS / WIDTH, WIDTH, 4] => r, t, v); distribute(t => thread(x), by: subgroup); unroll(r, v); }
    }
}

schedule! {
    /// Layer normalization.
    pub LAYERNORM<VECTORS = 256, WIDTH = 64> {
        apply ROW<VECTORS = VECTORS, WIDTH = WIDTH>;
        compute_at(variance, workgroup, to: register);
        compute_at(mean, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [VECTORS / WIDTH, WIDTH, 4] => r, t, v); distribute(t => thread(x)); unroll(r); vectorize(v, 4); }
        mean, variance { split(k, [VECTORS / WIDTH, WIDTH, 4] => r, t, v); distribute(t => thread(x), by: subgroup); unroll(r, v); }
    }
}
