//! Rows of a matrix, one row per workgroup. The row is in the registers of the invocations, so it is read from memory only once.

use crate::kernels::{layernorm, softmax};
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Rows of 4096 elements, with 512 invocations for each.
    pub SOFTMAX_4096: softmax for nvidia_hopper where C == 4096 {
        tile(i: 1) => workgroup(x);
        split(j, [1024 / T, T, 4] => j_r, j_t, j);
        distribute(j_t => thread(x));
        unroll(j_r);
        vectorize(j, 4);
        compute_at(total, workgroup, to: register);
        compute_at(largest, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [1024 / T, T, 4] => r, t, v); distribute(t => thread(x)); unroll(r); vectorize(v, 4); }
        largest, total { split(k, [1024 / T, T, 4] => k_r, k_t, k); distribute(k_t => thread(x), by: subgroup); unroll(k_r, k); }
        tune T in [128, 256, 512, 1024] = 512;
    }
}

schedule! {
    /// Rows of 4096 elements, with 512 invocations for each.
    pub LAYERNORM_4096: layernorm for nvidia_hopper where C == 4096 {
        tile(i: 1) => workgroup(x);
        split(j, [1024 / T, T, 4] => j_r, j_t, j);
        distribute(j_t => thread(x));
        unroll(j_r);
        vectorize(j, 4);
        compute_at(variance, workgroup, to: register);
        compute_at(mean, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [1024 / T, T, 4] => r, t, v); distribute(t => thread(x)); unroll(r); vectorize(v, 4); }
        mean, variance { split(k, [1024 / T, T, 4] => k_r, k_t, k); distribute(k_t => thread(x), by: subgroup); unroll(k_r, k); }
        tune T in [128, 256, 512, 1024] = 512;
    }
}
