//! Convolutions in networks for mobile devices: pointwise, depthwise, and separable. NHWC.

use tilewright::kernel;

kernel! {
    /// Pointwise convolution with bias and ReLU.
    pub fn conv1x1<N, H, W, IC, OC>(input: f32[N, H, W, IC], filter: f32[IC, OC], bias: f32[OC]) -> output: f32[N, H, W, OC] {
        output[n, h, w, oc] = (sum(ic in 0..IC) { input[n, h, w, ic] * filter[ic, oc] } + bias[oc]).max(0.0);
    }
}

kernel! {
    /// Pointwise convolution with bias and ReLU6: results are clamped to 0 to 6.
    pub fn conv1x1_relu6<N, H, W, IC, OC>(
        input: f32[N, H, W, IC],
        filter: f32[IC, OC],
        bias: f32[OC],
    ) -> output: f32[N, H, W, OC] {
        output[n, h, w, oc] = (sum(ic in 0..IC) { input[n, h, w, ic] * filter[ic, oc] } + bias[oc]).max(0.0).min(6.0);
    }
}

kernel! {
    /// Depthwise convolution: each channel has its own filter. Stride 1, no padding.
    pub fn depthwise<N, IH, IW, C, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
        input: f32[N, IH, IW, C],
        filter: f32[FH, FW, C],
    ) -> output: f32[N, OH, OW, C] {
        output[n, oh, ow, c] = sum(fh in 0..FH, fw in 0..FW) { input[n, oh + fh, ow + fw, c] * filter[fh, fw, c] };
    }
}

kernel! {
    /// A depthwise convolution, followed by a pointwise one.
    pub fn separable<N, IH, IW, C, OC, FH = 3, FW = 3, OH = IH - FH + 1, OW = IW - FW + 1>(
        input: f32[N, IH, IW, C],
        filter: f32[FH, FW, C],
        mix: f32[C, OC],
    ) -> output: f32[N, OH, OW, OC] {
        let spread[n, oh, ow, c]: f32[N, OH, OW, C] = sum(fh in 0..FH, fw in 0..FW) {
            input[n, oh + fh, ow + fw, c] * filter[fh, fw, c]
        };
        output[n, oh, ow, oc] = sum(c in 0..C) { spread[n, oh, ow, c] * mix[c, oc] };
    }
}
