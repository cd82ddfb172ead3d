//! Matrix multiply. Not yet run on such a device.

use crate::kernels::matmul;
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// Any sizes: the planned schedule.
    pub PLANNED: matmul for amd_rdna3 {}
}
