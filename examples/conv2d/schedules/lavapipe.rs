//! Mesa's lavapipe, which runs eight invocations as one vector of the CPU.

use crate::kernel::conv2d;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over the columns of a row, so that reads of the filter are the same for all of them; 32 channels
    /// of a pixel an invocation.
    pub LAVAPIPE: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 1) => thread(x);
        reorder(fh, fw, ic, oc);
        vectorize(oc, 4);
        unroll(fh, fw, ic, oc);
    }
}
