//! Convolution, channels last.

use crate::kernels::conv2d;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Three channels with stride 2: eight invocations over the channels of two pixels, four channels each; the filter written
    /// out.
    pub STRIDED_3: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OW % 16 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 16, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 2, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(fh, fw, ic, ow);
        vectorize(oc, 4);
    }
}

schedule! {
    /// Eight invocations over eight columns, so that every load of the filter is uniform; each has eight rows of 16 channels.
    pub STRIDED_3_COLUMNS: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OH % 8 == 0, OW % 8 == 0, OC % 16 == 0, IC == 3 {
        tile(n: 1, oh: 8, ow: 8, oc: 16) => workgroup(z, z, y, x);
        distribute(ow => thread(x));
        reorder(fh, fw, ic, oh, oc);
        unroll(ic, oh);
        vectorize(oc, 4);
        unroll(oc);
    }
}
