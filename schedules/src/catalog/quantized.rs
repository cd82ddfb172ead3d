//! Kernels of quantized tensors and of weights of 4 bits.

use super::{Entry, programs};
use crate::{ampere, hopper, lavapipe, rdna3, valhall, xe2};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "matmul_q",
        about: "quantized product of 8-bit integers with bias, scales and zero points",
        programs: || {
            programs(&[
                hopper::quantized::I8_SLICED,
                hopper::quantized::I8_ANY,
                ampere::quantized::I8,
                rdna3::quantized::I8,
                xe2::quantized::I8,
                lavapipe::quantized::I8_ROWS_64,
                lavapipe::quantized::I8_ANY,
                lavapipe::quantized::I8_PLANNED,
                valhall::quantized::I8_PLANNED,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_q_u8",
        about: "quantized product of unsigned and signed 8-bit integers with bias, scales and zero points",
        programs: || programs(&[hopper::quantized::U8_PLANNED, lavapipe::quantized::U8_ROWS_64, lavapipe::quantized::U8_PLANNED]),
        dims: &[("M", 1024), ("N", 1024), ("K", 1024)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "conv2d_q",
        about: "quantized 3x3 convolution with a border of zeros, NHWC x HWCF",
        programs: || programs(&[hopper::quantized::CONV2D, hopper::quantized::CONV2D_PLANNED, lavapipe::quantized::CONV2D]),
        dims: &[("N", 32), ("IH", 56), ("IW", 56), ("IC", 64), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv_nchw_q",
        about: "quantized 3x3 convolution with a border of zeros, NCHW x FCHW",
        programs: || {
            programs(&[hopper::quantized::CONV_NCHW, hopper::quantized::CONV_NCHW_PLANNED, lavapipe::quantized::CONV_NCHW])
        },
        dims: &[("N", 32), ("IC", 64), ("IH", 56), ("IW", 56), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv1x1_q",
        about: "quantized pointwise convolution, NHWC",
        programs: || programs(&[hopper::quantized::CONV1X1, hopper::quantized::CONV1X1_PLANNED, lavapipe::quantized::CONV1X1]),
        dims: &[("N", 32), ("H", 56), ("W", 56), ("IC", 256), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("H") * dim("W") * dim("OC") * dim("IC"),
    },
    Entry {
        name: "depthwise_q",
        about: "quantized 3x3 depthwise convolution with a border of zeros, NHWC",
        programs: || programs(&[hopper::quantized::DEPTHWISE, lavapipe::quantized::DEPTHWISE]),
        dims: &[("N", 8), ("IH", 112), ("IW", 112), ("C", 96)],
        operations: |dim| 2.0 * 9.0 * dim("N") * dim("OH") * dim("OW") * dim("C"),
    },
    Entry {
        name: "quantize",
        about: "floats as 8-bit integers, with a scale and a zero point for each channel",
        programs: || programs(&[hopper::quantized::QUANTIZE, lavapipe::quantized::QUANTIZE]),
        dims: &[("A", 32), ("C", 64), ("B", 4096)],
        operations: |dim| 3.0 * dim("A") * dim("C") * dim("B"),
    },
    Entry {
        name: "dequantize",
        about: "8-bit integers as floats, with a scale and a zero point for each channel",
        programs: || programs(&[hopper::quantized::DEQUANTIZE, lavapipe::quantized::DEQUANTIZE]),
        dims: &[("A", 32), ("C", 64), ("B", 4096)],
        operations: |dim| 2.0 * dim("A") * dim("C") * dim("B"),
    },
    Entry {
        name: "quantize_blocked",
        about: "floats as 8-bit integers, with a scale and a zero point for each 32 elements",
        programs: || programs(&[lavapipe::quantized::QUANTIZE_BLOCKED]),
        dims: &[("A", 1), ("C", 4096), ("B", 1024)],
        operations: |dim| 3.0 * dim("A") * dim("C") * dim("B"),
    },
    Entry {
        name: "dequantize_blocked",
        about: "8-bit integers as floats, with a scale and a zero point for each 32 elements",
        programs: || programs(&[lavapipe::quantized::DEQUANTIZE_BLOCKED]),
        dims: &[("A", 1), ("C", 4096), ("B", 1024)],
        operations: |dim| 2.0 * dim("A") * dim("C") * dim("B"),
    },
    Entry {
        name: "dynamic_quantize",
        about: "floats as 8-bit integers, with the scale and the zero point of their range",
        programs: || programs(&[hopper::quantized::DYNAMIC, lavapipe::quantized::DYNAMIC]),
        dims: &[("N", 1 << 24)],
        operations: |dim| 5.0 * dim("N"),
    },
    Entry {
        name: "matmul_n_bits",
        about: "product of f16 and weights of 4 bits in blocks of 32",
        programs: || {
            programs(&[hopper::bits::ROW, hopper::bits::ROWS_4, lavapipe::bits::PLANNED, valhall::quantized::BITS_PLANNED])
        },
        dims: &[("M", 1), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_n_bits_128",
        about: "product of f16 and weights of 4 bits in blocks of 128",
        programs: || programs(&[hopper::bits::ROW_128]),
        dims: &[("M", 1), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_n_bits_f32",
        about: "product of f32 and weights of 4 bits in blocks of 32",
        programs: || programs(&[hopper::bits::ROW_F32, lavapipe::bits::PLANNED_F32]),
        dims: &[("M", 1), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_n_bits_16",
        about: "product of f32 and weights of 4 bits in blocks of 16",
        programs: || programs(&[lavapipe::bits::PLANNED_16]),
        dims: &[("M", 1), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_n_bits_zeros",
        about: "product of f16 and weights of 4 bits with zero points, in blocks of 32",
        programs: || programs(&[hopper::bits::ROW_ZEROS, lavapipe::bits::PLANNED_ZEROS]),
        dims: &[("M", 1), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_n_bits_f16",
        about: "product of f16 and weights of 4 bits in blocks of 32, which are rounded to f16",
        programs: || {
            programs(&[
                hopper::bits::ROWS_16,
                hopper::bits::TILES,
                ampere::quantized::BITS,
                rdna3::quantized::BITS,
                xe2::quantized::BITS,
            ])
        },
        dims: &[("M", 16), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
];
