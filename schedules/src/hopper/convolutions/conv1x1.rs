//! Pointwise convolution with bias and ReLU.

use crate::kernels::conv1x1;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128 pixels x 64 channels per workgroup.
    pub PIXELS_128: conv1x1 for nvidia_hopper {
        apply parts::conv_f32::POINTWISE<PIXELS = PIXELS>;
        tune PIXELS in [64, 128, 256] = 128;
    }
}

schedule! {
    /// Any sizes: 32 pixels x 64 channels per workgroup, so that small images use all cores. Load it first for these.
    pub PIXELS_32: conv1x1 for nvidia_hopper {
        apply parts::conv_f32::POINTWISE_SUMS<PIXELS = PIXELS, SUMS = SUMS>;
        tune PIXELS in [16, 32] = 32;
        tune SUMS in [2, 4] = 2;
    }
}
