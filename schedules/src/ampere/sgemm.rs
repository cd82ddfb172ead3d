//! Matrix multiply with alpha and beta, in place.

use crate::kernels::sgemm;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any size: 128x128 per workgroup of 256, through shared memory. An invocation has 8x8 results, as 2x2 blocks of 4x4, so that
    /// adjacent invocations read adjacent elements.
    pub SGEMM: sgemm for nvidia_ampere {
        apply parts::matrices::BLOCKS<STEP = 8>;
    }
}
