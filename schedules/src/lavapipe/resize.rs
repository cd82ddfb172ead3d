//! Resizing of images.

use crate::kernels::resize_bilinear;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// A row of 64 pixels per workgroup, one pixel per invocation, because its channels share the position and the weights.
    pub PIXELS: resize_bilinear for mesa_lavapipe {
        tile(n: 1, y: 1, x: 64) => workgroup(z, y, x);
        distribute(x => thread(x));
        serial(c);
    }
}

schedule! {
    /// [`PIXELS`] for multiples of 4 channels, four at a time.
    pub PIXELS_4: resize_bilinear for mesa_lavapipe where C % 4 == 0 {
        tile(n: 1, y: 1, x: 64) => workgroup(z, y, x);
        distribute(x => thread(x));
        vectorize(c, 4);
        serial(c);
    }
}
