//! Vectors.

use crate::kernels::{argmax, total};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Two dispatches: 16384 elements per workgroup of 256, four at a time, by subgroups; then one workgroup for the partial sums.
    pub TOTAL: total for nvidia_ampere where K % 16384 == 0 {
        tile(k: 16384 => k_o);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(x));
            split(k, [_, 256, 4] => k_r, k_t, k_v);
            distribute(k_t => thread(x), by: subgroup);
            unroll(k_r, k_v);
        }
        tile(k_o: 256 => k_r);
        distribute(k_o => thread(x), by: subgroup);
    }
}

schedule! {
    /// Like [`TOTAL`], but reduced by trees.
    pub ARGMAX: argmax for nvidia_ampere where K % 16384 == 0 {
        apply parts::vectors::PARTS_BY_TREE<T = 256>;
    }
}
