//! NVIDIA's Hopper.

use crate::kernel::conv2d;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// One row of eight columns by 32 channels a workgroup, 1x4 (OW x OC) a thread.
    pub HOPPER: conv2d<T = f32, S = 2> for nvidia_hopper
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 1, oc: 4) => thread(y, x);
        unroll(fh, fw, ic);
        vectorize(oc, 4);
    }
}
