//! Arm's Mali GPUs of the Valhall family.

use crate::kernel::conv2d;
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// One 1x8x32 (OH x OW x OC) patch a workgroup, 1x4x4 a thread.
    pub VALHALL: conv2d<T = f32, S = 2> for arm_valhall
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 4, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(ic, ow);
        vectorize(oc, 4);
    }
}
