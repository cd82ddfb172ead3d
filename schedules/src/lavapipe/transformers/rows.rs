//! Rows of a matrix, one row per workgroup of one vector of invocations. The reductions of a row are in the registers of each
//! invocation, so there is one dispatch without barriers. After the first pass, the row is read from the cache, or from registers if
//! its length is known.

use crate::kernels::{layernorm, softmax};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations per row, four adjacent elements each at a time. Each reduction has a vector of four partial results per
    /// invocation, because one chain of additions would wait for itself. The length of a row is a specialization constant.
    pub SOFTMAX: softmax for mesa_lavapipe where C % 32 == 0 {
        tile(i: 1) => workgroup(x);
        tile(j: 32 => j_o);
        tile(j: 4) => thread(x);
        serial(j_o);
        vectorize(j, 4);
        compute_at(total, workgroup, to: register);
        total { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => total_part); }
        compute_at(total_part, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        largest { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => largest_part); }
        compute_at(largest_part, workgroup, to: register);
        largest_part, total_part { tile(k: 4) => thread(x); reorder(k_o, k); vectorize(k, 4); }
        largest, total { tile(k: 4 => k_t); distribute(k_t => thread(x), by: subgroup); unroll(k); }
        pin(C);
    }
}

schedule! {
    /// [`SOFTMAX`] for rows of 1024 elements, which stay in registers: 128 per invocation, so that each is loaded once.
    pub SOFTMAX_1024: softmax for mesa_lavapipe where C == 1024 {
        tile(i: 1) => workgroup(x);
        split(j, [32, 8, 4] => j_o, j_t, j);
        distribute(j_t => thread(x));
        unroll(j_o);
        vectorize(j, 4);
        compute_at(total, workgroup, to: register);
        total { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => total_part); }
        compute_at(total_part, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        largest { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => largest_part); }
        compute_at(largest_part, workgroup, to: register);
        largest_part, total_part { tile(k: 4) => thread(x); reorder(k_o, k); unroll(k_o, k); }
        largest, total { tile(k: 4 => k_t); distribute(k_t => thread(x), by: subgroup); unroll(k); }
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [32, 8, 4] => j_o, j_t, j); distribute(j_t => thread(x)); unroll(j_o); vectorize(j, 4); }
    }
}

schedule! {
    /// The maximum and the sum in one pass. Each of eight invocations reads blocks of adjacent elements.
    pub SOFTMAX_ONLINE: softmax for mesa_lavapipe where C % 256 == 0 {
        decompose_online(largest, total => block_largest, block_total, block: BLOCK);
        tile(i: 1) => workgroup(x);
        tile(j: 32 => j_o);
        tile(j: 4) => thread(x);
        serial(j_o);
        vectorize(j, 4);
        compute_at(total, workgroup, to: register);
        total {
            tile(k_o: 8 => k_q);
            distribute(k_o => thread(x), by: subgroup);
            compute_at(block_total, k_q, to: register);
            compute_at(block_largest, k_q, to: register);
        }
        block_total, block_largest { unroll(k); }
        pin(C);
        tune BLOCK in [4, 8, 16, 32] = 8;
    }
}

schedule! {
    /// Rows of any length, eight adjacent elements at a time.
    pub SOFTMAX_ANY: softmax for mesa_lavapipe {
        tile(i: 1) => workgroup(x);
        tile(j: 8 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(total, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        largest, total { tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}

schedule! {
    /// Eight invocations per row, four adjacent elements each at a time. Each reduction has a vector of four partial results per
    /// invocation, because one chain of additions would wait for itself. The length of a row is a specialization constant.
    pub LAYERNORM: layernorm for mesa_lavapipe where C % 32 == 0 {
        tile(i: 1) => workgroup(x);
        tile(j: 32 => j_o);
        tile(j: 4) => thread(x);
        serial(j_o);
        vectorize(j, 4);
        compute_at(variance, workgroup, to: register);
        variance { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => variance_part); }
        compute_at(variance_part, workgroup, to: register);
        compute_at(mean, workgroup, to: register);
        mean { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => mean_part); }
        compute_at(mean_part, workgroup, to: register);
        mean_part, variance_part { tile(k: 4) => thread(x); reorder(k_o, k); vectorize(k, 4); }
        mean, variance { tile(k: 4 => k_t); distribute(k_t => thread(x), by: subgroup); unroll(k); }
        pin(C);
    }
}

schedule! {
    /// [`LAYERNORM`] for rows of 1024 elements, which stay in registers: 128 per invocation, so that each is loaded once.
    pub LAYERNORM_1024: layernorm for mesa_lavapipe where C == 1024 {
        tile(i: 1) => workgroup(x);
        split(j, [32, 8, 4] => j_o, j_t, j);
        distribute(j_t => thread(x));
        unroll(j_o);
        vectorize(j, 4);
        compute_at(variance, workgroup, to: register);
        variance { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => variance_part); }
        compute_at(variance_part, workgroup, to: register);
        compute_at(mean, workgroup, to: register);
        mean { tile(k: 32 => k_o); reorder(k, k_o); rfactor(k => mean_part); }
        compute_at(mean_part, workgroup, to: register);
        mean_part, variance_part { tile(k: 4) => thread(x); reorder(k_o, k); unroll(k_o, k); }
        mean, variance { tile(k: 4 => k_t); distribute(k_t => thread(x), by: subgroup); unroll(k); }
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [32, 8, 4] => j_o, j_t, j); distribute(j_t => thread(x)); unroll(j_o); vectorize(j, 4); }
    }
}

schedule! {
    /// Rows of any length, eight adjacent elements at a time. The reductions of a row are in shared memory.
    pub LAYERNORM_ANY: layernorm for mesa_lavapipe {
        tile(i: 1) => workgroup(x);
        tile(j: 8 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(variance, workgroup, to: shared);
        compute_at(mean, workgroup, to: shared);
        mean, variance { tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}
