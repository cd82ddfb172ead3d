//! Attention in one dispatch: the scores of a block of keys are in shared memory, and the output's sums in registers. Each block
//! rescales the sums to the largest score so far. Not run on such a device.

use crate::kernels::{attention, causal_attention};
use crate::parts;
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// 16 queries per workgroup, blocks of 16 keys; an invocation has 4x4 of the output and 4x1 of the scores.
    pub F32: attention<T = f32> for arm_valhall where D == 64, E == 64 {
        apply parts::attention::SHARED_QUERIES<ROWS = 16, BLOCK = 16, KEYS = 1>;
    }
}

schedule! {
    /// 16 queries per workgroup, blocks of 16 keys; an invocation has 4x4 of the output and 4x1 of the scores. Products and sums of
    /// f16 items are computed in f32.
    pub F16: attention<T = f16> for arm_valhall where D == 64, E == 64 {
        apply parts::attention::SHARED_QUERIES<ROWS = 16, BLOCK = 16, KEYS = 1>;
    }
}

schedule! {
    /// Causal, with 32 rows per workgroup. The blocks of a workgroup end with the key of its last row.
    pub CAUSAL_F32: causal_attention<T = f32> for arm_valhall where D == 64, E == 64 {
        apply parts::attention::SHARED_QUERIES<ROWS = 32, BLOCK = 16, KEYS = 1>;
    }
}
