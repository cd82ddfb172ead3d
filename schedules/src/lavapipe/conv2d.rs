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
    /// Eight invocations over 32 channels, four each of some rows of pixels: what is read of a pixel is uniform. The filter is
    /// written out, and the sizes are the driver's to know.
    pub STRIDED_3_ROWS: conv2d<T = f32, S = 2> for mesa_lavapipe
    where OH % 4 == 0, OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: ROWS, ow: COLUMNS, oc: 32) => workgroup(z, z, y, x);
        tile(oc: 4) => thread(x);
        reorder(fh, fw, ic, oh, ow, oc);
        unroll(fh, fw, ic, oh, ow);
        vectorize(oc, 4);
        pin(IH, IW, OC);
        tune ROWS in [1, 2, 4] = 4;
        tune COLUMNS in [1, 2, 4, 8] = 8;
    }
}

schedule! {
    /// Stride 1, many channels: eight invocations over 64 channels, eight each of some rows of pixels. The sizes are the driver's to
    /// know.
    pub CHANNELS_64: conv2d<T = f32> for mesa_lavapipe
    where OH % 2 == 0, OW % 4 == 0, OC % 64 == 0, IC % 4 == 0 {
        tile(n: 1, oh: ROWS, ow: COLUMNS, oc: 64) => workgroup(z, z, y, x);
        tile(oc: 8) => thread(x);
        tile(ic: DEPTH => ic_o);
        vectorize(oc, 4);
        reorder(fh, fw, ic_o, oh, ow, oc, ic);
        unroll(oh, ow, oc, ic);
        pin(IH, IW, IC, OC);
        tune ROWS in [1, 2] = 2;
        tune COLUMNS in [1, 2, 4] = 4;
        tune DEPTH in [1, 2, 4] = 2;
    }
}

schedule! {
    /// The same for Mesa 26, where what is uniform costs little: eight invocations over eight pixels, 32 channels each, so that every load of
    /// the filter is uniform. The sizes are the driver's to know.
    pub PIXELS_8X32: conv2d<T = f32> for mesa_lavapipe where OC % 32 == 0, IC % 4 == 0 {
        fuse(n, oh, ow => t);
        tile(t: 8 round_up, oc: 32) => workgroup(y, x);
        distribute(t => thread(x));
        tile(ic: 4 => ic_o);
        reorder(fh, fw, ic_o, ic, oc);
        unroll(ic, oc);
        pin(IH, IW, IC, OC);
    }
}
