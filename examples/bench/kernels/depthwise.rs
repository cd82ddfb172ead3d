//! A depthwise convolution.

use super::{Workload, programs};
use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    /// 3x3, each channel for itself, the border as if zeros stood around it.
    pub fn depthwise<N, H, W, C>(input: f32[N, H, W, C], filter: f32[3, 3, C]) -> output: f32[N, H, W, C] {
        output[n, h, w, c] = sum(fh in 0..3, fw in 0..3) { input.pad(0.0)[n, h + fh - 1, w + fw - 1, c] * filter[fh, fw, c] };
    }
}

schedule! {
    /// Four channels an invocation.
    pub CHANNELS_4: depthwise for vulkan_1_1 where C % 4 == 0 {
        tile(n: 1, h: 1, w: 4, c: 32) => workgroup(z, z, y, x);
        tile(w: 1, c: 4) => thread(y, x);
        unroll(fh, fw);
        vectorize(c, 4);
    }
}

pub const WORKLOAD: Workload = Workload {
    name: "depthwise",
    about: "depthwise 3x3 convolution with a border, NHWC",
    programs: || programs(&[CHANNELS_4, depthwise::DEFAULT]),
    dims: &[("N", 1), ("H", 112), ("W", 112), ("C", 96)],
    operations: |dim| 18.0 * dim("N") * dim("H") * dim("W") * dim("C"),
};
