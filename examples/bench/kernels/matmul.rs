//! Matrix multiply.

use super::{Workload, programs};
use tilewright::devices::{mesa_lavapipe, nvidia_hopper};
use tilewright::{kernel, schedule};

kernel! {
    /// `c = a * b`.
    pub fn matmul<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

schedule! {
    /// 8x8 (rows x columns) an invocation, in registers.
    pub REGISTERS_8X8: matmul for mesa_lavapipe where M % 64 == 0, N % 64 == 0, K % 4 == 0 {
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
    /// 4x4 an invocation, 16x16 invocations.
    pub REGISTERS_4X4: matmul for nvidia_hopper where M % 64 == 0, N % 64 == 0, K % 4 == 0 {
        tile(i: 64, j: 64) => workgroup(y, x);
        tile(i: 4, j: 4) => thread(y, x);
        tile(k: 4 => k_o);
        reorder(k_o, k, i, j);
        unroll(k, i);
        vectorize(j, 4);
    }
}

pub const WORKLOAD: Workload = Workload {
    name: "matmul",
    about: "matrix multiply",
    programs: || programs(&[REGISTERS_8X8, REGISTERS_4X4, matmul::DEFAULT]),
    dims: &[("M", 512), ("N", 512), ("K", 512)],
    operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
};
