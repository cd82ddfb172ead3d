//! Products of quantized tensors. Not yet run on such a device.

use crate::kernels::{matmul_n_bits, matmul_q};
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// Any sizes: the planned schedule.
    pub I8_PLANNED: matmul_q<A = i8, B = i8> for arm_valhall {}
}

schedule! {
    /// Weights of 4 bits, any sizes: the planned schedule.
    pub BITS_PLANNED: matmul_n_bits<T = f16, S = f16> for arm_valhall {}
}
