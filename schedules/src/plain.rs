//! Any device, any size: the heuristic schedule of kernels that have several dtypes. The others have it as their `DEFAULT`.

use crate::kernels::{attention, causal_attention, conv_nchw, conv2d, gelu};
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
    /// As [`CONV2D_WINOGRAD`], NCHW.
    pub CONV_NCHW_WINOGRAD: conv_nchw<T = f32> for vulkan_1_1 where IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        root(output_tile);
    }
}

schedule! {
    /// f32, in one pass for each row's largest score, total and output.
    pub ATTENTION: attention<T = f32> for vulkan_1_1 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
    }
}

schedule! {
    /// As [`ATTENTION`], causal.
    pub CAUSAL_ATTENTION: causal_attention<T = f32> for vulkan_1_1 {
        decompose_online(largest, total, output => block_largest, block_total, block_output, block: 16);
    }
}

schedule! {
    /// f32.
    pub GELU: gelu<T = f32> for vulkan_1_1 {}
}
