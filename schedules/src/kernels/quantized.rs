//! Products and convolutions of 8-bit integers, as ONNX's `QLinear` operators define them, and conversions from floats and back.
//!
//! An integer `q` of a quantized tensor represents the number `(q - zero) * scale`. A result is `saturate(round(sum * scale) + zero)`, with
//! ties to even. Its `sum` is the exact sum of the products of differences from the zero points, plus the bias. It must fit in an `i32`.
//! `scale` is the product of the operands' scales divided by the result's scale, a number for each column or channel. The caller computes
//! it, so that a result has one rounding of a product before it is rounded to an integer.
//!
//! Matrix units multiply elements of memory. So the sums of `(a - a_zero) * (b - b_zero)` are expanded to sums of `a * b`, of `a`, and of
//! `b`. They are exact, too, because `i32` wraps.

use tilewright::{functions, kernel};

functions! {
    /// The integer that represents `sum * scale`.
    fn requantized<A: u8 | i8>(sum: i32, scale: f32, zero: A) -> A {
        ((sum as f32 * scale).round_ties_even() + zero as f32) as A
    }
    /// The integer that represents `x`.
    fn quantized<T: u8 | i8 | u16 | i16>(x: f32, scale: f32, zero: T) -> T {
        ((x / scale).round_ties_even() + zero as f32) as T
    }
    /// The number that `q` represents.
    fn dequantized(q, scale: f32, zero) -> f32 {
        (q as i32 - zero as i32) as f32 * scale
    }
}

kernel! {
    use self::requantized;

    /// The quantized product of two matrices with a bias (`QLinearMatMul`). Each column of `b` has its own scale and zero point.
    pub fn matmul_q<A: u8 | i8, B: u8 | i8, M, N, K>(
        a: A[M, K],
        b: B[K, N],
        bias: i32[N],
        scale: f32[N],
        b_zero: B[N],
        a_zero: A,
        c_zero: A,
    ) -> c: A[M, N] {
        let row[i]: i32[M] = sum(k in 0..K) { a[i, k] as i32 - a_zero as i32 };
        let column[j]: i32[N] = sum(k in 0..K) { b[k, j] as i32 };
        c[i, j] = requantized(
            sum(k in 0..K) { a[i, k] as i32 * b[k, j] as i32 } - a_zero as i32 * column[j] - b_zero[j] as i32 * row[i] + bias[j],
            scale[j],
            c_zero,
        );
    }
}

kernel! {
    use self::requantized;

    /// A quantized convolution, NHWC x HWCF, with stride `S`, and `P` rows and columns of zeros at each border (`QLinearConv`). Each output
    /// channel has its own scale and zero point. Results are clamped to `low` to `high`, as ReLU and ReLU6 need.
    pub fn conv2d_q<A: u8 | i8, B: u8 | i8, N, IH, IW, IC, OC, FH = 3, FW = 3, S = 1, P = 0,
                    OH = (IH + 2 * P - FH) / S + 1, OW = (IW + 2 * P - FW) / S + 1>(
        input: A[N, IH, IW, IC],
        filter: B[FH, FW, IC, OC],
        bias: i32[OC],
        scale: f32[OC],
        filter_zero: B[OC],
        input_zero: A,
        output_zero: A,
        low: A,
        high: A,
    ) -> output: A[N, OH, OW, OC] {
        let pixel[n, h, w]: i32[N, IH, IW] = sum(ic in 0..IC) { input[n, h, w, ic] as i32 - input_zero as i32 };
        let window[n, oh, ow]: i32[N, OH, OW] = sum(fh in 0..FH, fw in 0..FW) { pixel.pad(0)[n, oh * S + fh - P, ow * S + fw - P] };
        let taps[oc]: i32[OC] = sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) { filter[fh, fw, ic, oc] as i32 };
        output[n, oh, ow, oc] = requantized(
            sum(fh in 0..FH, fw in 0..FW, ic in 0..IC) {
                input.pad(input_zero)[n, oh * S + fh - P, ow * S + fw - P, ic] as i32 * filter[fh, fw, ic, oc] as i32
            } - input_zero as i32 * taps[oc] - filter_zero[oc] as i32 * window[n, oh, ow] + bias[oc],
            scale[oc],
            output_zero,
        )
        .max(low)
        .min(high);
    }
}

kernel! {
    use self::requantized;

    /// [`conv2d_q`] of NCHW x FCHW, with stride 1.
    pub fn conv_nchw_q<A: u8 | i8, B: u8 | i8, N, IC, IH, IW, OC, FH = 3, FW = 3, P = 0,
                       OH = IH + 2 * P - FH + 1, OW = IW + 2 * P - FW + 1>(
        input: A[N, IC, IH, IW],
        filter: B[OC, IC, FH, FW],
        bias: i32[OC],
        scale: f32[OC],
        filter_zero: B[OC],
        input_zero: A,
        output_zero: A,
        low: A,
        high: A,
    ) -> output: A[N, OC, OH, OW] {
        let pixel[n, h, w]: i32[N, IH, IW] = sum(ic in 0..IC) { input[n, ic, h, w] as i32 - input_zero as i32 };
        let window[n, oh, ow]: i32[N, OH, OW] = sum(fh in 0..FH, fw in 0..FW) { pixel.pad(0)[n, oh + fh - P, ow + fw - P] };
        let taps[oc]: i32[OC] = sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) { filter[oc, ic, fh, fw] as i32 };
        output[n, oc, oh, ow] = requantized(
            sum(ic in 0..IC, fh in 0..FH, fw in 0..FW) {
                input.pad(input_zero)[n, ic, oh + fh - P, ow + fw - P] as i32 * filter[oc, ic, fh, fw] as i32
            } - input_zero as i32 * taps[oc] - filter_zero[oc] as i32 * window[n, oh, ow] + bias[oc],
            scale[oc],
            output_zero,
        )
        .max(low)
        .min(high);
    }
}

kernel! {
    use self::requantized;

    /// A quantized pointwise convolution, NHWC, like [`conv2d_q`].
    pub fn conv1x1_q<A: u8 | i8, B: u8 | i8, N, H, W, IC, OC>(
        input: A[N, H, W, IC],
        filter: B[IC, OC],
        bias: i32[OC],
        scale: f32[OC],
        filter_zero: B[OC],
        input_zero: A,
        output_zero: A,
        low: A,
        high: A,
    ) -> output: A[N, H, W, OC] {
        let pixel[n, h, w]: i32[N, H, W] = sum(ic in 0..IC) { input[n, h, w, ic] as i32 - input_zero as i32 };
        let column[oc]: i32[OC] = sum(ic in 0..IC) { filter[ic, oc] as i32 };
        output[n, h, w, oc] = requantized(
            sum(ic in 0..IC) { input[n, h, w, ic] as i32 * filter[ic, oc] as i32 }
                - input_zero as i32 * column[oc]
                - filter_zero[oc] as i32 * pixel[n, h, w]
                + bias[oc],
            scale[oc],
            output_zero,
        )
        .max(low)
        .min(high);
    }
}

kernel! {
    use self::requantized;

    /// A quantized depthwise convolution, NHWC, with stride 1, like [`conv2d_q`].
    pub fn depthwise_q<A: u8 | i8, B: u8 | i8, N, IH, IW, C, FH = 3, FW = 3, P = 0, OH = IH + 2 * P - FH + 1, OW = IW + 2 * P - FW + 1>(
        input: A[N, IH, IW, C],
        filter: B[FH, FW, C],
        bias: i32[C],
        scale: f32[C],
        filter_zero: B[C],
        input_zero: A,
        output_zero: A,
        low: A,
        high: A,
    ) -> output: A[N, OH, OW, C] {
        output[n, oh, ow, c] = requantized(
            sum(fh in 0..FH, fw in 0..FW) {
                (input.pad(input_zero)[n, oh + fh - P, ow + fw - P, c] as i32 - input_zero as i32)
                    * (filter[fh, fw, c] as i32 - filter_zero[c] as i32)
            } + bias[c],
            scale[c],
            output_zero,
        )
        .max(low)
        .min(high);
    }
}

kernel! {
    use self::quantized;

    /// Floats as integers (`QuantizeLinear`), with a scale and a zero point for each element of the middle axis.
    pub fn quantize<X: f32 | f16, T: u8 | i8 | u16 | i16, A, C, B>(x: X[A, C, B], scale: f32[C], zero: T[C]) -> y: T[A, C, B] {
        y[a, c, b] = quantized(x[a, c, b] as f32, scale[c], zero[c]);
    }
}

kernel! {
    use self::quantized;

    /// [`quantize`] with a scale and a zero point for each `BLOCK` elements along the middle axis.
    pub fn quantize_blocked<X: f32 | f16, T: u8 | i8 | u16 | i16, A, C, B, BLOCK = 32, G = (C + BLOCK - 1) / BLOCK>(
        x: X[A, C, B],
        scale: f32[A, G, B],
        zero: T[A, G, B],
    ) -> y: T[A, C, B] {
        y[a, c, b] = quantized(x[a, c, b] as f32, scale[a, c / BLOCK, b], zero[a, c / BLOCK, b]);
    }
}

kernel! {
    use self::dequantized;

    /// Integers as floats (`DequantizeLinear`), with a scale and a zero point for each element of the middle axis.
    pub fn dequantize<X: f32 | f16, T: u8 | i8 | u16 | i16, A, C, B>(x: T[A, C, B], scale: f32[C], zero: T[C]) -> y: X[A, C, B] {
        y[a, c, b] = dequantized(x[a, c, b], scale[c], zero[c]) as X;
    }
}

kernel! {
    use self::dequantized;

    /// [`dequantize`] with a scale and a zero point for each `BLOCK` elements along the middle axis.
    pub fn dequantize_blocked<X: f32 | f16, T: u8 | i8 | u16 | i16, A, C, B, BLOCK = 32, G = (C + BLOCK - 1) / BLOCK>(
        x: T[A, C, B],
        scale: f32[A, G, B],
        zero: T[A, G, B],
    ) -> y: X[A, C, B] {
        y[a, c, b] = dequantized(x[a, c, b], scale[a, c / BLOCK, b], zero[a, c / BLOCK, b]) as X;
    }
}

kernel! {
    use self::quantized;

    /// Floats as integers, with the scale and the zero point that their range needs (`DynamicQuantizeLinear`). The range includes 0.
    pub fn dynamic_quantize<N>(x: f32[N]) -> (y: u8[N], scale: f32[], zero: u8[]) {
        let low[]: f32[] = min(k in 0..N) { x[k] }.min(0.0);
        let high[]: f32[] = max(k in 0..N) { x[k] }.max(0.0);
        scale[] = if low[] == high[] { 1.0 } else { high[] - low[] } / 255.0;
        zero[] = (0.0 - low[] / scale[]).round_ties_even() as u8;
        y[i] = quantized(x[i], scale[], zero[]);
    }
}
