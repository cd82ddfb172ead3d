//! Convolution, channels first.

use crate::kernels::conv_nchw;
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Any sizes: 32 channels x 4x32 pixels per workgroup. The sizes of the image are specialization constants.
    pub BORDERED: conv_nchw<T = f32> for nvidia_hopper {
        apply parts::conv_f32::BORDERED<ROWS = ROWS, STEP = STEP>;
        pin(IC, IH, IW);
        tune ROWS in [2, 4, 8] = 4;
        tune STEP in [2, 4, 8] = 4;
    }
}
