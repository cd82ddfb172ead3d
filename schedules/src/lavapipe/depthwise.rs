//! Depthwise convolution.

use crate::kernels::depthwise;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over the channels, four each, of a row of four pixels.
    pub PIXELS_4: depthwise for mesa_lavapipe where OW % 4 == 0, C % 32 == 0 {
        tile(n: 1, oh: 1, ow: 4, c: 32) => workgroup(z, z, y, x);
        tile(c: 4) => thread(x);
        reorder(fh, fw, ow, c);
        unroll(fh, fw, ow);
        vectorize(c, 4);
    }
}
