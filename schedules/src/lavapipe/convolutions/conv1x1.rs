//! Pointwise convolutions.

use crate::kernels::{conv1x1, conv1x1_relu6};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Fused pixels: 4x8 (pixels x channels) per invocation.
    pub PIXELS_4X8: conv1x1 for mesa_lavapipe where OC % 8 == 0 {
        fuse(n, h, w => pixel);
        tile(pixel: 32, oc: 64) => workgroup(y, x);
        tile(pixel: 4, oc: 8) => thread(y, x);
        tile(ic: 4 => ic_o);
        reorder(ic_o, ic, pixel, oc);
        unroll(ic, pixel);
        vectorize(oc, 4);
        unroll(oc);
    }
}

schedule! {
    /// Eight invocations over 32 channels. Each has four channels of four rows of eight pixels, so the reads of pixels are uniform.
    /// The sizes are specialization constants.
    pub ROWS_4X8: conv1x1 for mesa_lavapipe where H % 4 == 0, W % 8 == 0, OC % 32 == 0, IC % 4 == 0 {
        tile(n: 1, h: 4, w: 8, oc: 32) => workgroup(z, z, y, x);
        tile(oc: 4) => thread(x);
        tile(ic: 4 => ic_o);
        vectorize(oc, 4);
        reorder(ic_o, h, w, ic);
        unroll(h, w, ic);
        pin(H, W, IC, OC);
    }
}

schedule! {
    /// Eight invocations over eight columns. Each has 16 channels of eight rows, so the reads of the filter are uniform. Faster than
    /// [`ROWS_4X8`] on Mesa 25. The sizes are specialization constants.
    pub COLUMNS_8X16: conv1x1 for mesa_lavapipe where H % 8 == 0, W % 8 == 0, OC % 16 == 0, IC % 4 == 0 {
        tile(n: 1, h: 8, w: 8, oc: 16) => workgroup(z, z, y, x);
        distribute(w => thread(x));
        tile(ic: 4 => ic_o);
        vectorize(oc, 4);
        reorder(ic_o, oc, h, ic);
        unroll(h, oc, ic);
        pin(H, W, IC, OC);
    }
}

schedule! {
    /// Like [`PIXELS_4X8`].
    pub RELU6_PIXELS_4X8: conv1x1_relu6 for mesa_lavapipe where OC % 8 == 0 {
        apply PIXELS_4X8;
    }
}
