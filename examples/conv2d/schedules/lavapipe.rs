//! Mesa's lavapipe, which runs eight invocations as one vector of the CPU.

use crate::kernel::conv2d;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over the channels of two pixels, four channels each, with the filter unrolled.
    pub LAVAPIPE: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OW % 16 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 16, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 2, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(fh, fw, ic, ow);
        vectorize(oc, 4);
    }
}
