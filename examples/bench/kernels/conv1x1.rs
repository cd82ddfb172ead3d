//! A pointwise convolution with its bias and activation, as mobile networks have it.

use super::{Workload, programs};
use tilewright::devices::mesa_lavapipe;
use tilewright::{kernel, schedule};

kernel! {
    /// Each pixel's channels by a matrix, plus a bias, not below 0.
    pub fn conv1x1<N, H, W, IC, OC>(input: f32[N, H, W, IC], filter: f32[IC, OC], bias: f32[OC]) -> output: f32[N, H, W, OC] {
        output[n, h, w, oc] = (sum(ic in 0..IC) { input[n, h, w, ic] * filter[ic, oc] } + bias[oc]).max(0.0);
    }
}

schedule! {
    /// Pixels fused; 4x8 (pixels x channels) an invocation.
    pub PIXELS_4X8: conv1x1 for mesa_lavapipe where OC % 8 == 0 {
        fuse(n, h, w => pixel);
        tile(pixel: 32, oc: 64) => workgroup(y, x);
        tile(pixel: 4, oc: 8) => thread(y, x);
        tile(ic: 4 => ic_o);
        reorder(ic_o, ic, pixel, oc);
        unroll(ic, pixel);
        vectorize(oc, 4);
        unroll(oc);
    }
}

pub const WORKLOAD: Workload = Workload {
    name: "conv1x1",
    about: "pointwise convolution, bias and ReLU, NHWC",
    programs: || programs(&[PIXELS_4X8, conv1x1::DEFAULT]),
    dims: &[("N", 1), ("H", 56), ("W", 56), ("IC", 240), ("OC", 64)],
    operations: |dim| dim("N") * dim("H") * dim("W") * dim("OC") * (2.0 * dim("IC") + 2.0),
};
