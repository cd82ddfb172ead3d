//! Rows of a matrix, one row per workgroup. The reductions of a row are in shared memory.

use crate::kernels::{layernorm, softmax};
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// 128 invocations (four subgroups) per row.
    pub SOFTMAX: softmax for amd_rdna3 {
        tile(i: 1) => workgroup(x);
        tile(j: 128 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(total, workgroup, to: shared);
        compute_at(largest, workgroup, to: shared);
        largest, total { tile(k: 128 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}

schedule! {
    /// 128 invocations (four subgroups) per row.
    pub LAYERNORM: layernorm for amd_rdna3 {
        tile(i: 1) => workgroup(x);
        tile(j: 128 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(variance, workgroup, to: shared);
        compute_at(mean, workgroup, to: shared);
        mean, variance { tile(k: 128 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}
