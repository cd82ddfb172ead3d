//! The algorithm. Schedules cannot change its results.

use tilewright::kernel;

kernel! {
    /// Strided 2-D convolution, NHWC x HWCF, no padding.
    pub fn conv2d<T: f32 | f16, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1,
                  OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
        input: T[N, IH, IW, IC],
        filter: T[FH, FW, IC, OC],
    ) -> output: T[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
            input[n, oh * S + fh, ow * S + fw, ic] * filter[fh, fw, ic, oc]
        };
    }
}
