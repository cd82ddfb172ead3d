//! Depthwise convolution.

use crate::kernels::depthwise;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Eight invocations over 32 channels, four each, of a row of four pixels.
    pub PIXELS_4: depthwise for mesa_lavapipe where OW % 4 == 0, C % 32 == 0 {
        tile(n: 1, oh: 1, ow: 4, c: 32) => workgroup(z, z, y, x);
        tile(c: 4) => thread(x);
        reorder(fh, fw, ow, c);
        unroll(fh, fw, ow);
        vectorize(c, 4);
    }
}

schedule! {
    /// Invocations over eight vectors of channels and 4x16 pixels, several pixels each. The sizes are specialization constants.
    pub PIXELS_PINNED: depthwise for mesa_lavapipe where OH % 4 == 0, OW % 16 == 0, C % 32 == 0 {
        tile(n: 1, oh: 4, ow: 16, c: 32) => workgroup(z, z, y, x);
        tile(oh: ROWS, ow: COLUMNS, c: 4) => thread(z, y, x);
        reorder(fh, fw, oh, ow, c);
        unroll(fh, fw, oh, ow);
        vectorize(c, 4);
        pin(IH, IW, C);
        tune ROWS in [1, 2, 4] = 4;
        tune COLUMNS in [1, 2, 4, 8] = 8;
    }
}
