//! Convolutions of images with many channels.

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

kernel! {
    /// 2-D convolution, NCHW x FCHW, stride 1, no padding.
    pub fn conv_nchw<T: f32 | f16, N, IC, IH, IW, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
        input: T[N, IC, IH, IW],
        filter: T[OC, IC, FH, FW],
    ) -> output: T[N, OC, OH, OW] {
        output[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
            input[n, ic, oh + fh, ow + fw] * filter[oc, ic, fh, fw]
        };
    }
}

kernel! {
    /// 3x3 convolution of f16 with accumulation in f32, stride 1, without padding, NHWC x HWCF.
    pub fn conv3x3_f16<N, IH, IW, IC, OC, OH = IH - 2, OW = IW - 2>(
        input: f16[N, IH, IW, IC],
        filter: f16[3, 3, IC, OC],
    ) -> output: f16[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..3, fw in 0..3, ic in 0..IC) {
            input[n, oh + fh, ow + fw, ic] as f32 * filter[fh, fw, ic, oc] as f32
        } as f16;
    }
}

kernel! {
    /// [`conv2d`] of f16, with accumulation in f32.
    pub fn conv2d_f16_f32<N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1, OH = (IH - FH) / S + 1, OW = (IW - FW) / S + 1>(
        input: f16[N, IH, IW, IC],
        filter: f16[FH, FW, IC, OC],
    ) -> output: f16[N, OH, OW, OC] {
        output[n, oh, ow, oc] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
            input[n, oh * S + fh, ow * S + fw, ic] as f32 * filter[fh, fw, ic, oc] as f32
        } as f16;
    }
}

kernel! {
    /// [`conv_nchw`] of f16, with accumulation in f32.
    pub fn conv_nchw_f16_f32<N, IC, IH, IW, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
        input: f16[N, IC, IH, IW],
        filter: f16[OC, IC, FH, FW],
    ) -> output: f16[N, OC, OH, OW] {
        output[n, oc, oh, ow] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
            input[n, ic, oh + fh, ow + fw] as f32 * filter[oc, ic, fh, fw] as f32
        } as f16;
    }
}
