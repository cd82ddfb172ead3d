//! Products with weights of 4 bits: the planned schedules.

use crate::kernels::{matmul_n_bits, matmul_n_bits_zeros};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Blocks of 32 in f16.
    pub PLANNED: matmul_n_bits<T = f16, S = f16> for mesa_lavapipe {}
}

schedule! {
    /// Blocks of 32 in f32.
    pub PLANNED_F32: matmul_n_bits<T = f32, S = f32> for mesa_lavapipe {}
}

schedule! {
    /// Blocks of 32 with zero points.
    pub PLANNED_ZEROS: matmul_n_bits_zeros<T = f16, S = f16> for mesa_lavapipe {}
}

schedule! {
    /// Blocks of 16 in f32.
    pub PLANNED_16: matmul_n_bits<T = f32, S = f32, BLOCK = 16, PART = 16> for mesa_lavapipe {}
}
