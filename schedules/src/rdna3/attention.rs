//! Attention in one dispatch: the scores of a block of keys are in shared memory, and the output's sums in registers. Each block
//! rescales the sums to the largest score so far. Not run on such a device.

use crate::kernels::{attention, causal_attention};
use crate::parts;
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// 32 queries per workgroup, blocks of 32 keys; an invocation has 4x4 of the output and 4x2 of the scores.
    pub F32: attention<T = f32> for amd_rdna3 where D == 64, E == 64 {
        apply parts::attention::SHARED<ROWS = 32>;
    }
}

schedule! {
    /// 32 queries per workgroup, blocks of 32 keys; an invocation has 4x4 of the output and 4x2 of the scores. Products and sums of
    /// f16 items are computed in f32.
    pub F16: attention<T = f16> for amd_rdna3 where D == 64, E == 64 {
        apply parts::attention::SHARED_QUERIES<ROWS = 32>;
    }
}

schedule! {
    /// Causal, with 64 rows per workgroup. The blocks of a workgroup end with the key of its last row.
    pub CAUSAL_F32: causal_attention<T = f32> for amd_rdna3 where D == 64, E == 64 {
        apply parts::attention::SHARED;
    }
}
