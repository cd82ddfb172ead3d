//! Convolutions of f16 with accumulation in f32, on matrix units.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Channels last, small images: 7x16 pixels x 64 channels per workgroup of two subgroups.
    pub NHWC_ROWS_7: conv2d_f16_f32 for nvidia_hopper where OH <= 7, IC % 16 == 0 {
        apply parts::conv_f16::NHWC_ROWS<TALL = 7>;
    }
}

schedule! {
    /// Channels last, any image: 14x16 pixels x 64 channels per workgroup of four subgroups.
    pub NHWC_ROWS: conv2d_f16_f32 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::NHWC_ROWS;
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
    /// Channels first, small images: 64 channels x 7x16 pixels per workgroup of two subgroups. The image and the filter are packed first.
    pub NCHW_ROWS_7: conv_nchw_f16_f32 for nvidia_hopper where OH <= 7, IC % 16 == 0 {
        apply parts::conv_f16::NCHW_ROWS<TALL = 7>;
    }
}

schedule! {
    /// Channels first, any image: 64 channels x 14x16 pixels per workgroup of four subgroups. The image and the filter are packed first.
    pub NCHW_ROWS: conv_nchw_f16_f32 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::NCHW_ROWS;
    }
}

schedule! {
    /// Channels first, any sizes: 64 channels x 128 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for nvidia_hopper {
        apply parts::conv_f16::NCHW<PIXELS = 128>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}
