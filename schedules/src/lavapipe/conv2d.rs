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
    /// Eight invocations over 32 channels, four each of four rows of eight pixels: what is read of a pixel is uniform. The filter is
    /// written out, and the sizes are the driver's to know.
    pub STRIDED_3_ROWS: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OH % 4 == 0, OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 4, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(oc: 4) => thread(x);
        reorder(fh, fw, ic, oh, ow, oc);
        unroll(fh, fw, ic, oh, ow);
        vectorize(oc, 4);
        pin(IH, IW, OC);
    }
}
