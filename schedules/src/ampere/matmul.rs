//! Matrix multiply.

use crate::kernels::matmul;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// For few results and long sums: each workgroup sums 256 products, 4x4 results per invocation. A second dispatch adds the
    /// partial sums, with eight invocations per result.
    pub SPLIT_K: matmul for nvidia_ampere where M % 64 == 0, N % 64 == 0, K % 256 == 0 {
        split(k, [_, 64, 4] => k_o, k_m, k);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(z));
            tile(i: 64, j: 64) => workgroup(y, x);
            tile(i: 4, j: 4) => thread(y, x);
            reorder(k_m, k, i, j);
            unroll(k, i);
            vectorize(j, 4);
        }
        tile(j: 32) => workgroup(x);
        distribute(i => workgroup(y));
        distribute(j => thread(x));
        tile(k_o: 8 => k_r);
        distribute(k_o => thread(y), by: tree);
    }
}
