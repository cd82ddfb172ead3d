//! Products and convolutions of quantized tensors.

use crate::kernels::{conv_nchw_q, conv1x1_q, conv2d_q, depthwise_q, dequantize, dynamic_quantize, matmul_q, quantize};
use crate::parts;
use tilewright::devices::nvidia_hopper;
use tilewright::schedule;

schedule! {
    /// Large products, with sizes as specialization constants: 128x128 per workgroup of four subgroups. Each subgroup scales and rounds its
    /// sums in slices of shared memory.
    pub I8_SLICED: matmul_q<A = i8, B = i8> for nvidia_hopper where N % 64 == 0, K % 64 == 0 {
        apply parts::matrices::BYTE_SLICES<COLUMNS = COLUMNS, BAND = BAND>;
        tune COLUMNS in [32, 64] = 64;
        tune BAND in [1, 4, 8] = 8;
        pin(N, K);
    }
}

schedule! {
    /// Any sizes: 128x64 per workgroup. The sums go through shared memory.
    pub I8_ANY: matmul_q<A = i8, B = i8> for nvidia_hopper {
        apply parts::matrices::PREFETCHED<STEP = 64, DEPTH = 32, PAD = 16>;
    }
}

schedule! {
    /// A product of unsigned and signed bytes, which matrix units do not multiply. The planned schedule.
    pub U8_PLANNED: matmul_q<A = u8, B = i8> for nvidia_hopper {}
}

schedule! {
    /// 3x3 with one row and column of zeros at each border, on matrix units.
    pub CONV2D: conv2d_q<A = i8, B = i8, P = 1> for nvidia_hopper where IC % 64 == 0 {
        apply parts::quantized::NHWC;
    }
}

schedule! {
    /// Any number of channels. The planned schedule.
    pub CONV2D_PLANNED: conv2d_q<A = i8, B = i8, P = 1> for nvidia_hopper {}
}

schedule! {
    /// 3x3 with one row and column of zeros at each border, on matrix units.
    pub CONV_NCHW: conv_nchw_q<A = i8, B = i8, P = 1> for nvidia_hopper where IC % 64 == 0 {
        apply parts::quantized::NCHW;
    }
}

schedule! {
    /// Any number of channels. The planned schedule.
    pub CONV_NCHW_PLANNED: conv_nchw_q<A = i8, B = i8, P = 1> for nvidia_hopper {}
}

schedule! {
    /// On matrix units.
    pub CONV1X1: conv1x1_q<A = i8, B = i8> for nvidia_hopper where IC % 64 == 0 {
        apply parts::quantized::POINTWISE;
    }
}

schedule! {
    /// Any number of channels. The planned schedule.
    pub CONV1X1_PLANNED: conv1x1_q<A = i8, B = i8> for nvidia_hopper {}
}

schedule! {
    /// Invocations over vectors of four channels, four pixels of a row each.
    pub DEPTHWISE: depthwise_q<A = i8, B = i8, P = 1> for nvidia_hopper where C % 4 == 0 {
        apply parts::quantized::DEPTHWISE;
    }
}

schedule! {
    /// The planned schedule.
    pub QUANTIZE: quantize<X = f32, T = u8> for nvidia_hopper {}
}

schedule! {
    /// The planned schedule.
    pub DEQUANTIZE: dequantize<X = f32, T = u8> for nvidia_hopper {}
}

schedule! {
    /// The planned schedule.
    pub DYNAMIC: dynamic_quantize for nvidia_hopper {}
}
