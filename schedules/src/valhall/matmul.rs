//! Matrix multiply. Not yet run on such a device.

use crate::kernels::{matmul, matmul_bf16, matmul_f16, matmul_i8};
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

schedule! {
    /// bf16 with accumulation in f32, any sizes: the planned schedule.
    pub PLANNED_BF16: matmul_bf16 for arm_valhall {}
}

schedule! {
    /// 8-bit integers, any sizes: the planned schedule.
    pub PLANNED_I8: matmul_i8 for arm_valhall {}
}
