//! Convolution, channels last. Not yet run on such a device.

use crate::kernels::conv2d;
use crate::parts;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    /// 3x3 filters, stride 1, any sizes: 128 pixels x 64 channels per workgroup of 128.
    pub WINDOWS: conv2d<T = f32> for nvidia_ampere {
        apply parts::conv_f32::WINDOWS;
    }
}

schedule! {
    /// Filters of 7x7 with stride 2, any sizes: 128 pixels x 64 channels per workgroup of 128.
    pub WINDOWS_7X7: conv2d<T = f32, FH = 7, FW = 7, S = 2> for nvidia_ampere {
        apply parts::conv_f32::WINDOWS;
    }
}
