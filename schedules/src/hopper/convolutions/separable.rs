//! A depthwise convolution and a pointwise one in one dispatch.

use crate::kernels::separable;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// 8x8 pixels x 64 channels of the result per workgroup of 128.
    pub SHARED: separable for nvidia_hopper where C % 32 == 0, OC % 64 == 0 {
        apply parts::conv_f32::SEPARABLE<ROWS = ROWS>;
        tune ROWS in [4, 8, 16] = 8;
    }
}
