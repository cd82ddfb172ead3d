//! Products of f16 with accumulation in f32, on matrix units. Not yet run on such a device.

use crate::kernels::matmul_f16;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for nvidia_ampere {
        apply parts::matrices::PREFETCHED;
    }
}
