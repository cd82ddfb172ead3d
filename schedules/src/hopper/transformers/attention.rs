//! Attention in one dispatch: the scores of a block of keys are in shared memory, and the output's sums in registers. Each block
//! rescales the sums to the largest score so far. If blocks divide the sizes, scores and sums do not need predicates.

use crate::kernels::{attention, causal_attention};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 32 queries per workgroup, blocks of 64 keys; an invocation has 4x4 of the output and 4x4 of the scores.
    pub F32: attention<T = f32> for nvidia_hopper where D == 64, E == 64, M % 64 == 0, N % 32 == 0 {
        apply parts::attention::SCORES;
    }
}

schedule! {
    /// [`F32`] for any number of rows and keys.
    pub F32_ANY: attention<T = f32> for nvidia_hopper where D == 64, E == 64 {
        apply parts::attention::SCORES;
    }
}

schedule! {
    /// 64 queries per workgroup, blocks of 32 keys; an invocation has 8x4 of the output and 8x2 of the scores. Products and sums of
    /// f16 items are computed in f32.
    pub F16: attention<T = f16> for nvidia_hopper where D == 64, E == 64, M % 32 == 0, N % 64 == 0 {
        apply parts::attention::SHARED_QUERIES;
    }
}

schedule! {
    /// [`F16`] for any number of rows and keys.
    pub F16_ANY: attention<T = f16> for nvidia_hopper where D == 64, E == 64 {
        apply parts::attention::SHARED_QUERIES;
    }
}

schedule! {
    /// Causal [`F32`]. The blocks of a workgroup end with the key of its last row.
    pub CAUSAL_F32: causal_attention<T = f32> for nvidia_hopper where D == 64, E == 64 {
        apply parts::attention::SHARED;
    }
}
