//! Convolutions of f16 with accumulation in f32, on matrix units.

use crate::kernels::conv3x3_f16;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Small images: 7x16 pixels x 64 channels per workgroup of two subgroups.
    pub ROWS_7: conv3x3_f16 for nvidia_hopper where OH <= 7, IC % 16 == 0 {
        apply parts::conv_f16::NHWC_ROWS<TALL = 7>;
    }
}

schedule! {
    /// Any image: 14x16 pixels x 64 channels per workgroup of four subgroups.
    pub ROWS: conv3x3_f16 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::NHWC_ROWS;
    }
}
