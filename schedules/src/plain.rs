//! Any device, any size: the heuristic schedule of kernels that have several dtypes. The others have it as their `DEFAULT`.

use crate::kernels::{conv_nchw, conv2d};
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    /// f32, stride 2.
    pub CONV2D_STRIDED: conv2d<T = f32, S = 2> for vulkan_1_1 {}
}

schedule! {
    /// f32.
    pub CONV_NCHW: conv_nchw<T = f32> for vulkan_1_1 {}
}
