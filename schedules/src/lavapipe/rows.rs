//! Rows of a matrix. A row is a workgroup's, of one vector of invocations; what is known of a row lies in shared memory, so there
//! is one dispatch, and the row is read from the cache after the first time.

use crate::kernels::{layernorm, softmax};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations a row, eight neighbours at a time.
    pub SOFTMAX: softmax for mesa_lavapipe {
        tile(i: 1) => workgroup(x);
        tile(j: 8 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(total, workgroup, to: shared);
        compute_at(largest, workgroup, to: shared);
        largest, total { tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}

schedule! {
    /// Eight invocations a row, eight neighbours at a time.
    pub LAYERNORM: layernorm for mesa_lavapipe {
        tile(i: 1) => workgroup(x);
        tile(j: 8 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(variance, workgroup, to: shared);
        compute_at(mean, workgroup, to: shared);
        mean, variance { tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}
