//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels: 128 pixels x 64 channels per workgroup of 4 subgroups. Each step
    /// covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32: conv2d_f16_f32 for nvidia_hopper where IC % 32 == 0 {
        apply parts::conv_f16::NHWC_CHANNELS_32<PIXELS = 128>;
        pipeline(s, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for nvidia_hopper {
        apply parts::conv_f16::NHWC<PIXELS = 128>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Channels first, any sizes: 64 channels x 128 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for nvidia_hopper {
        apply parts::conv_f16::NCHW<PIXELS = 128>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}
