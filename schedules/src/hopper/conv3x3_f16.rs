//! Convolutions of f16 with accumulation in f32, on matrix units. Matrices have 16 channels of 8 pixels, or of the same pixel of 8 images.

use crate::kernels::conv3x3_f16;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 14x8 pixels x 64 channels per workgroup of two subgroups, whose image part with its border is in shared memory.
    pub BORDERED: conv3x3_f16 for nvidia_hopper where OH % 14 == 0, OW % 8 == 0, IC % 16 == 0, OC % 64 == 0 {
        apply parts::conv_f16::NHWC_BORDERED;
    }
}

schedule! {
    /// 7 pixels of a row in 16 images x 128 channels per workgroup of four subgroups.
    pub IMAGES_16: conv3x3_f16 for nvidia_hopper where N % 16 == 0, OW % 7 == 0, IC % 32 == 0, OC % 128 == 0 {
        apply parts::conv_f16::NHWC_IMAGES;
    }
}

schedule! {
    /// Any image: 7x16 pixels x 64 channels per workgroup of two subgroups.
    pub SLICES: conv3x3_f16 for nvidia_hopper where IC % 16 == 0 {
        apply parts::conv_f16::NHWC_SLICES;
    }
}
