//! Matrix multiply.

use crate::kernels::matmul;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

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
