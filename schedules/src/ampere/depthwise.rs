//! Depthwise convolution. Not yet run on such a device.

use crate::kernels::depthwise;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Invocations over eight vectors of channels and 4x8 pixels, four pixels of a row each.
    pub PIXELS: depthwise for nvidia_ampere where OW % 8 == 0, C % 32 == 0 {
        tile(n: 1, oh: 4, ow: 8, c: 32) => workgroup(z, z, y, x);
        tile(oh: 1, ow: 4, c: 4) => thread(z, y, x);
        reorder(fh, fw, oh, ow, c);
        unroll(fh, fw, oh, ow);
        vectorize(c, 4);
    }
}
