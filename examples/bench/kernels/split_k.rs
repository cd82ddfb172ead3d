//! A matrix product with few results and long sums.

use super::{Workload, programs};
use tilewright::devices::{mesa_lavapipe, nvidia_ampere};
use tilewright::{kernel, schedule};

kernel! {
    /// `c = a * b`.
    pub fn skinny<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

schedule! {
    /// One dispatch: 8x8 (rows x columns) an invocation, in registers.
    pub WHOLE: skinny for mesa_lavapipe where M % 64 == 0, N % 64 == 0, K % 4 == 0 {
        tile(i: 64, j: 64) => workgroup(y, x);
        tile(i: 8, j: 8) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
        unroll(j);
    }
}

schedule! {
    /// The same for each 512 of the sum, whose parts another dispatch adds up.
    pub SPLIT: skinny for mesa_lavapipe where M % 64 == 0, N % 64 == 0, K % 512 == 0 {
        split(k, [_, 128, 4] => k_o, k_m, k);
        rfactor(k_o => part);
        part {
            distribute(k_o => workgroup(z));
            tile(i: 64, j: 64) => workgroup(y, x);
            tile(i: 8, j: 8) => thread(y, x);
            reorder(k_m, k, i, j);
            unroll(k, i);
            vectorize(j, 4);
            unroll(j);
        }
        tile(i: 4, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}

schedule! {
    /// 4x4 an invocation, 256 of them, 256 of the sum a workgroup.
    pub AMPERE: skinny for nvidia_ampere where M % 64 == 0, N % 64 == 0, K % 256 == 0 {
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

pub const WORKLOAD: Workload = Workload {
    name: "split_k",
    about: "a matrix product with few results and long sums",
    programs: || programs(&[WHOLE, SPLIT, AMPERE, skinny::DEFAULT]),
    dims: &[("M", 64), ("N", 64), ("K", 65536)],
    operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
};
