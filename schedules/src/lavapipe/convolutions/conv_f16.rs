//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter. For Mesa 26 and
//! later.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::mesa_lavapipe_26;
use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels: 32 pixels x 32 channels per workgroup of 4 subgroups. Each step
    /// covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32: conv2d_f16_f32 for mesa_lavapipe_26 where IC % 32 == 0 {
        apply parts::conv_f16::NHWC_CHANNELS_32<PIXELS = 32, CHANNELS = 32, A = 8, B = 8, DEPTH = 8>;
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for mesa_lavapipe_26 {
        apply parts::conv_f16::NHWC<PIXELS = 32, CHANNELS = 32, A = 8, B = 8, DEPTH = 8>;
    }
}

schedule! {
    /// Channels first, any sizes: 32 channels x 32 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for mesa_lavapipe_26 {
        apply parts::conv_f16::NCHW<PIXELS = 32, CHANNELS = 32, A = 8, B = 8, DEPTH = 8>;
    }
}
