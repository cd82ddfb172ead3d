//! Convolution, channels last.

use crate::kernels::conv2d;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 1x2x4 (OH x OW x OC) per invocation, with unrolled filter loops. The workgroups are small, so that a small image fills the
    /// GPU.
    pub STRIDED_3: conv2d<T = f32, S = 2> for nvidia_hopper
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: COLUMNS, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(fh, fw, ic, ow);
        vectorize(oc, 4);
        tune COLUMNS in [1, 2, 4, 8] = 2;
    }
}

schedule! {
    /// 3x3 filters, stride 1, any number of pixels: 4x16 pixels x 64 channels per workgroup of 64, 8x8 per invocation. The sizes of the
    /// image are specialization constants.
    pub ROWS: conv2d<T = f32> for nvidia_hopper where IC % 4 == 0, OC % 64 == 0 {
        apply parts::conv_f32::ROWS<COLUMNS = COLUMNS, CHANNELS = CHANNELS>;
        pin(IH, IW, IC);
        tune COLUMNS in [16, 32] = 16;
        tune CHANNELS in [64, 128] = 64;
    }
}

schedule! {
    /// 3x3 filters, stride 1, any sizes: 64 pixels x 128 channels per workgroup of 128, 8x8 per invocation. The sizes of the image are
    /// specialization constants.
    pub WINDOWS: conv2d<T = f32> for nvidia_hopper {
        apply parts::conv_f32::WINDOWS<PIXELS = PIXELS, CHANNELS = CHANNELS, STEP = STEP>;
        pin(IH, IW, IC);
        tune PIXELS in [64, 128] = 64;
        tune CHANNELS in [64, 128] = 128;
        tune STEP in [8, 16] = 8;
    }
}

schedule! {
    /// Filters of 7x7 with stride 2, any sizes: 128 pixels x 64 channels per workgroup of 128. The sizes of the image are specialization
    /// constants.
    pub WINDOWS_7X7: conv2d<T = f32, FH = 7, FW = 7, S = 2> for nvidia_hopper {
        apply parts::conv_f32::WINDOWS<PIXELS = PIXELS, STEP = STEP>;
        pin(IH, IW, IC);
        tune PIXELS in [64, 128, 256] = 128;
        tune STEP in [8, 16] = 16;
    }
}
