//! Products and convolutions of quantized tensors, and conversions.

use crate::kernels::{
    conv_nchw_q, conv1x1_q, conv2d_q, depthwise_q, dequantize, dequantize_blocked, dynamic_quantize, matmul_q, quantize,
    quantize_blocked,
};
use crate::parts;
use tilewright::devices::{mesa_lavapipe, mesa_lavapipe_26};
use tilewright::schedule;

schedule! {
    /// In vectors of eight adjacent invocations over 32 columns, 64 rows of four columns each, row by row. The sizes are specialization
    /// constants.
    pub I8_ROWS_64: matmul_q<A = i8, B = i8> for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 4 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 4>;
        pin(N, K);
    }
}

schedule! {
    /// [`I8_ROWS_64`] of unsigned `a`.
    pub U8_ROWS_64: matmul_q<A = u8, B = i8> for mesa_lavapipe where M % 64 == 0, N % 32 == 0, K % 4 == 0 {
        apply parts::matrices::VECTORS<ROWS = 64, COLUMNS = 4, STEP = 4>;
        pin(N, K);
    }
}

schedule! {
    /// Any sizes: the planned schedule.
    pub I8_PLANNED: matmul_q<A = i8, B = i8> for mesa_lavapipe {}
}

schedule! {
    /// Any sizes: the planned schedule.
    pub U8_PLANNED: matmul_q<A = u8, B = i8> for mesa_lavapipe {}
}

schedule! {
    /// On matrix units of Mesa 26, any sizes: one tile per workgroup of 4 subgroups. The sums go through shared memory.
    pub I8_ANY: matmul_q<A = i8, B = i8> for mesa_lavapipe_26 {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        apply parts::matrices::FILLED<ROWS = 16, COLUMNS = 16, A = 8, B = 8, DEPTH = 8, PAD = 16>;
    }
}

schedule! {
    /// The planned schedule.
    pub CONV2D: conv2d_q<A = i8, B = i8, P = 1> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub CONV_NCHW: conv_nchw_q<A = i8, B = i8, P = 1> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub CONV1X1: conv1x1_q<A = i8, B = i8> for mesa_lavapipe {}
}

schedule! {
    /// Eight invocations over 32 channels, four each, of a row of four pixels.
    pub DEPTHWISE: depthwise_q<A = i8, B = i8, P = 1> for mesa_lavapipe where C % 4 == 0 {
        apply parts::quantized::DEPTHWISE<ROWS = 1>;
    }
}

schedule! {
    /// The planned schedule.
    pub QUANTIZE: quantize<X = f32, T = u8> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub DEQUANTIZE: dequantize<X = f32, T = u8> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub QUANTIZE_BLOCKED: quantize_blocked<X = f32, T = u8> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub DEQUANTIZE_BLOCKED: dequantize_blocked<X = f32, T = u8> for mesa_lavapipe {}
}

schedule! {
    /// The planned schedule.
    pub DYNAMIC: dynamic_quantize for mesa_lavapipe {}
}
