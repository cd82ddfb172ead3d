//! Depthwise convolution.

use crate::kernels::depthwise;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Invocations over eight vectors of channels and 4x8 pixels, several pixels of a row each.
    pub PIXELS: depthwise for nvidia_hopper where OW % 8 == 0, C % 32 == 0 {
        tile(n: 1, oh: 4, ow: 8, c: 32) => workgroup(z, z, y, x);
        tile(oh: ROWS, ow: COLUMNS, c: 4) => thread(z, y, x);
        reorder(fh, fw, oh, ow, c);
        unroll(fh, fw, oh, ow);
        vectorize(c, 4);
        tune ROWS in [1, 2, 4] = 1;
        tune COLUMNS in [1, 2, 4, 8] = 4;
    }
}
