//! NVIDIA's Hopper.

use crate::kernel::conv2d;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 1x4x4 (OH x OW x OC) elements for each invocation, with the filter unrolled. Workgroups are small, so that a small image
    /// fills the GPU.
    pub HOPPER: conv2d<T = f32, S = 2> for nvidia_hopper
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 4, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(fh, fw, ic, ow);
        vectorize(oc, 4);
    }
}
