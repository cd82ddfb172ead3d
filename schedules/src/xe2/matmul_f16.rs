//! Products of f16 with accumulation in f32, on matrix units. Not yet run on such a device.

use crate::kernels::matmul_f16;
use crate::parts;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Any sizes: 64x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}
