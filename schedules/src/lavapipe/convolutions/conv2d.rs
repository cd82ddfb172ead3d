//! Convolution, channels last.

use crate::kernels::conv2d;
use tilewright::devices::mesa_lavapipe;
use tilewright::schedule;

schedule! {
    /// Three channels with stride 2: eight invocations over the channels of two pixels, four channels each. The filter loops are
    /// unrolled.
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
    /// Eight invocations over 32 channels. Each has four channels of several rows of pixels, so the reads of pixels are uniform.
    /// The filter loops are unrolled, and the sizes are specialization constants.
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
    /// Stride 1, many channels: eight invocations over 64 channels, with eight channels of several rows of pixels each. The sizes
    /// are specialization constants.
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
    /// Eight invocations over 32 channels. Each has four channels of four rows of eight pixels, so the reads of pixels are uniform.
    /// The sizes are specialization constants.
    pub ROWS_4X8: conv2d<T = f32> for mesa_lavapipe
    where OH % 4 == 0, OW % 8 == 0, OC % 32 == 0, IC % 4 == 0 {
        tile(n: 1, oh: 4, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(oc: 4) => thread(x);
        tile(ic: 4 => ic_o);
        vectorize(oc, 4);
        reorder(fh, fw, ic_o, oh, ow, oc, ic);
        unroll(oh, ow, ic);
        pin(IH, IW, IC, OC);
    }
}

schedule! {
    /// For Mesa 25: eight invocations over eight columns. Each has 16 channels of 16 rows, so the reads of the filter are uniform. The
    /// sizes are specialization constants.
    pub COLUMNS_16X16: conv2d<T = f32> for mesa_lavapipe
    where OH % 16 == 0, OW % 8 == 0, OC % 16 == 0, IC % 4 == 0 {
        tile(n: 1, oh: 16, ow: 8, oc: 16) => workgroup(z, z, y, x);
        distribute(ow => thread(x));
        tile(ic: 4 => ic_o);
        vectorize(oc, 4);
        reorder(fh, fw, ic_o, oh, oc, ic);
        unroll(oh, oc, ic);
        pin(IH, IW, IC, OC);
    }
}

schedule! {
    /// For Mesa 26, where uniform loads are cheap: eight invocations over eight pixels, 32 channels each, so that every load of the
    /// filter is uniform. The sizes are specialization constants.
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
