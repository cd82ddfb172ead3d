//! Products of f16 with accumulation in f32, on matrix units. Not yet run on such a device.

use crate::kernels::matmul_f16;
use crate::parts;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Whole tiles of 128x128 per workgroup, 32x32 per subgroup. The result is stored from fragments.
    pub WHOLE_128X128: matmul_f16 for intel_xe2 where M % 128 == 0, N % 128 == 0, K % 32 == 0 {
        tile(i: 128, j: 128) => workgroup(y, x);
        apply parts::matrices::WHOLE<STEP = 32, ROWS = 32, COLUMNS = 32, A = 8>;
    }
}

schedule! {
    /// Any sizes: 64x64 per workgroup of 4 subgroups. The result is written through shared memory.
    pub ANY: matmul_f16 for intel_xe2 {
        apply parts::matrices::PREFETCHED<ROWS = 32, A = 8>;
    }
}
