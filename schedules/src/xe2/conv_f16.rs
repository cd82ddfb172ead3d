//! Convolutions of f16 with accumulation in f32, on matrix units: products of the image's windows with the filter. Not yet run on
//! such a device.

use crate::kernels::{conv_nchw_f16_f32, conv2d_f16_f32};
use crate::parts;
use tilewright::devices::intel_xe2;
use tilewright::schedule;

schedule! {
    /// Channels last, if 32 divides the number of input channels: 64 pixels x 64 channels per workgroup of 4 subgroups. Each step
    /// covers one filter tap and 32 channels.
    pub NHWC_CHANNELS_32: conv2d_f16_f32 for intel_xe2 where IC % 32 == 0 {
        apply parts::conv_f16::NHWC_CHANNELS_32<A = 8>;
        pipeline(s, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Channels last, any sizes. Each step covers 32 elements of the windows.
    pub NHWC: conv2d_f16_f32 for intel_xe2 {
        apply parts::conv_f16::NHWC<A = 8>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}

schedule! {
    /// Channels first, any sizes: 64 channels x 64 pixels of an image per workgroup.
    pub NCHW: conv_nchw_f16_f32 for intel_xe2 {
        apply parts::conv_f16::NCHW<A = 8>;
        pipeline(k_o, buffers: 1, prefetch: register);
    }
}
