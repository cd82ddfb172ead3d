//! Products of bf16 and of 8-bit integers on matrix units. Not yet run on such a device.

use crate::kernels::{matmul_bf16, matmul_i8};
use crate::parts;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Any sizes: 64x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BF16: matmul_bf16 for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}

schedule! {
    /// Integers, any sizes: 64x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub I8: matmul_i8 for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8, DEPTH = 32, PAD = 16, STEP = 64>;
    }
}
