//! Matrix multiply. Not yet run on such a device.

use crate::kernels::matmul;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Any sizes: the planned schedule.
    pub PLANNED: matmul for intel_xe2 {}
}
