//! Products of bf16 and of 8-bit integers on matrix units. Not yet run on such a device.

use crate::kernels::{matmul_bf16, matmul_i8};
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub BF16: matmul_bf16 for nvidia_ampere {
        apply parts::matrices::PREFETCHED;
    }
}

schedule! {
    /// Integers, any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub I8: matmul_i8 for nvidia_ampere {
        apply parts::matrices::PREFETCHED<DEPTH = 32, PAD = 16, STEP = 64>;
    }
}
