//! Matrix multiply.

use crate::kernels::matmul;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x128 per workgroup of 256, through shared memory, 8x8 per invocation.
    pub ANY: matmul for nvidia_ampere {
        apply parts::matrices::BLOCKS<STEP = 8>;
    }
}

schedule! {
    /// Few results, any sizes: each workgroup adds 256 products for 64x64 results, and a second dispatch adds the partial sums. Load it
    /// first for sizes up to about 1024x1024.
    pub CHUNKS: matmul for nvidia_ampere {
        apply parts::matrices::CHUNKS;
    }
}

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
