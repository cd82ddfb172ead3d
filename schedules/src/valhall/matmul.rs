//! Matrix multiply. Not yet run on such a device.

use crate::kernels::{matmul, matmul_f16};
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// Any sizes: the planned schedule.
    pub PLANNED: matmul for arm_valhall {}
}

schedule! {
    /// f16 with accumulation in f32, any sizes: the planned schedule.
    pub PLANNED_F16: matmul_f16 for arm_valhall {}
}
