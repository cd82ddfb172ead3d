//! Pointwise convolutions.

use crate::kernels::{conv1x1, conv1x1_relu6};
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Pixels fused; 4x8 (pixels x channels) an invocation.
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
    /// Eight invocations over eight columns, so that every load of the filter is uniform; each has eight rows of eight channels.
    pub COLUMNS: conv1x1 for mesa_lavapipe where H % 8 == 0, W % 8 == 0, OC % 8 == 0, IC % 4 == 0 {
        tile(n: 1, h: 8, w: 8, oc: 8) => workgroup(z, z, y, x);
        distribute(w => thread(x));
        tile(ic: 4 => ic_o);
        reorder(ic_o, ic, h, oc);
        unroll(ic, h);
        vectorize(oc, 4);
        unroll(oc);
    }
}

schedule! {
    /// As [`PIXELS_4X8`].
    pub RELU6_PIXELS_4X8: conv1x1_relu6 for mesa_lavapipe where OC % 8 == 0 {
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
