//! Schedules for any device and any size. Most are `{}`, the planned schedule, of kernels with several dtypes. Other kernels have it
//! as their `DEFAULT`.

use crate::kernels::{attention, causal_attention, conv_nchw, conv2d, gelu, matvec};
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

schedule! {
    /// f32, stride 1, by Winograd's algorithm with tiles of 4x4 results; the filter is prepared.
    pub CONV2D_WINOGRAD: conv2d<T = f32> for vulkan_1_1 where IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        root(output_tile);
    }
}

schedule! {
    /// [`CONV2D_WINOGRAD`], NCHW.
    pub CONV_NCHW_WINOGRAD: conv_nchw<T = f32> for vulkan_1_1 where IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        root(output_tile);
    }
}

schedule! {
    /// f32, with the largest score, the total and the output of each row in one pass.
    pub ATTENTION: attention<T = f32> for vulkan_1_1 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
    }
}

schedule! {
    /// Causal [`ATTENTION`].
    pub CAUSAL_ATTENTION: causal_attention<T = f32> for vulkan_1_1 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
    }
}

schedule! {
    /// f32.
    pub GELU: gelu<T = f32> for vulkan_1_1 {}
}

schedule! {
    /// f32.
    pub MATVEC: matvec<T = f32> for vulkan_1_1 {}
}

schedule! {
    /// f32, filters of 7x7 with stride 2.
    pub CONV2D_7X7: conv2d<T = f32, FH = 7, FW = 7, S = 2> for vulkan_1_1 {}
}
