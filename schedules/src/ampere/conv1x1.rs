//! Pointwise convolution with bias and ReLU. Not yet run on such a device.

use crate::kernels::conv1x1;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// Any sizes: 128 pixels x 64 channels per workgroup.
    pub PIXELS_128: conv1x1 for nvidia_ampere {
        apply parts::conv_f32::POINTWISE;
    }
}

schedule! {
    /// Any sizes: 32 pixels x 64 channels per workgroup, so that small images use all cores. Load it first for these.
    pub PIXELS_32: conv1x1 for nvidia_ampere {
        apply parts::conv_f32::POINTWISE_SUMS;
    }
}
