//! Convolution, channels last. After Lei Zhang, "Convolution on mobile GPUs" (2020): one patch per workgroup, one register tile per
//! thread, accesses of four channels.

use crate::kernels::conv2d;
use tilewright::devices::arm_valhall;
use tilewright::schedule;

schedule! {
    /// One 1x8x32 (OH x OW x OC) patch per workgroup, 1x4x4 per thread.
    pub STRIDED_3: conv2d<T = f32, S = 2> for arm_valhall
    where OW % 8 == 0, OC % 32 == 0, IC == 3 {
        tile(n: 1, oh: 1, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(ow: 4, oc: 4) => thread(y, x);
        reorder(fh, fw, ic, ow, oc);
        unroll(ic, ow);
        vectorize(oc, 4);
    }
}

schedule! {
    /// In f16: one 2x8x32 patch per workgroup, 1x4x8 per thread. Eight channels of the filter are loaded before the pixels that
    /// they are multiplied by, and the eight channels of a pixel are loaded at once.
    pub PRELOADED_F16: conv2d<T = f16> for arm_valhall
    where OH % 2 == 0, OW % 8 == 0, OC % 32 == 0, IC % 8 == 0 {
        tile(n: 1, oh: 2, ow: 8, oc: 32) => workgroup(z, z, y, x);
        tile(oh: 1, ow: 4, oc: 8) => thread(z, y, x);
        tile(ic: 8 => ic_o);
        reorder(fh, fw, ic_o, ow, ic, oc);
        promote(filter => f[ic, oc], at: ic_o, to: register, vector: 8);
        promote(input => x[ic], at: ow, to: register, vector: 8);
        unroll(ow, ic);
        vectorize(oc, 8);
    }
}
