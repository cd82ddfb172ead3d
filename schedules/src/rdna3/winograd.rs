//! Convolutions of 3x3 pixels by Winograd's algorithm, tiles of 4x4 results: three dispatches, with the filter prepared. The
//! product dominates the time: for each of the 36 points, a matrix of tiles times a matrix of the filter, both through shared
//! memory, 64 tiles x 64 channels per workgroup of 128, 8x4 per invocation. Not run on such a device.

use crate::kernels::{conv_nchw, conv2d};
use crate::parts;
use tilewright::devices::amd_rdna3;
use tilewright::schedule;

schedule! {
    /// Whole tiles.
    pub F4: conv2d<T = f32> for amd_rdna3
    where OH % 4 == 0, OW % 4 == 0, IC % 8 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, tolerance: 4e-6);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 4>;
        g { apply parts::winograd::PRODUCTS<ROWS = 64, STEP = 8>; }
    }
}

schedule! {
    /// [`F4`] with transformed inputs and filters stored as f16, which halves the memory traffic.
    pub F4_F16: conv2d<T = f32> for amd_rdna3
    where OH % 4 == 0, OW % 4 == 0, IC % 8 == 0, OC % 64 == 0, IC <= 2048 {
        decompose_winograd(output => v, u, g, m: 4, store: f16, tolerance: 1.5e-3);
        precompute(u);
        apply parts::winograd::TRANSFORMS<M = 4>;
        g { apply parts::winograd::PRODUCTS<ROWS = 64, STEP = 8>; }
    }
}

schedule! {
    /// NCHW, whole tiles: 64 channels x 64 tiles of an image per workgroup, 4x4 per invocation.
    pub F4_NCHW: conv_nchw<T = f32> for amd_rdna3
    where OH % 4 == 0, OW % 4 == 0, IC % 8 == 0, OC % 64 == 0, IC <= 2048 {
        apply parts::winograd::F4_NCHW;
    }
}
