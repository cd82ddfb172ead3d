//! Convolutions of floats.

use super::{Entry, programs};
use crate::{ampere, hopper, kernels, lavapipe, plain, rdna3, valhall, xe2};

pub(super) const ENTRIES: &[Entry] = &[
    Entry {
        name: "conv2d",
        about: "3x3 convolution with stride 2, NHWC x HWCF",
        programs: || {
            programs(&[
                lavapipe::conv2d::STRIDED_3,
                lavapipe::conv2d::STRIDED_3_ROWS,
                valhall::conv2d::STRIDED_3,
                hopper::conv2d::STRIDED_3,
                plain::CONV2D_STRIDED,
            ])
        },
        dims: &[("N", 1), ("IH", 225), ("IW", 225), ("IC", 3), ("OC", 32)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv2d_7x7",
        about: "7x7 convolution with stride 2, NHWC x HWCF",
        programs: || programs(&[hopper::conv2d::WINDOWS_7X7, ampere::conv2d::WINDOWS_7X7, plain::CONV2D_7X7]),
        dims: &[("N", 1), ("IH", 229), ("IW", 229), ("IC", 3), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 49.0 * dim("IC"),
    },
    Entry {
        name: "conv2d_f16",
        about: "3x3 convolution of f16, NHWC x HWCF",
        programs: || programs(&[valhall::conv2d::PRELOADED_F16]),
        dims: &[("N", 1), ("IH", 66), ("IW", 66), ("IC", 64), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv3x3_f16",
        about: "3x3 convolution of f16, with accumulation in f32, NHWC x HWCF",
        programs: || {
            use hopper::conv3x3_f16::{ROWS, ROWS_7};
            programs(&[ROWS_7, ROWS])
        },
        dims: &[("N", 32), ("IH", 58), ("IW", 58), ("IC", 64), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv2d_f16_f32",
        about: "3x3 convolution of f16, with accumulation in f32, NHWC x HWCF",
        programs: || {
            let decomposed = programs(&[hopper::winograd::F4_MATRICES, hopper::winograd::F2_MATRICES])?;
            let direct = programs(&[
                hopper::conv_f16::NHWC_ROWS_7,
                hopper::conv_f16::NHWC_ROWS,
                hopper::conv_f16::NHWC,
                ampere::conv_f16::NHWC_CHANNELS_32,
                ampere::conv_f16::NHWC,
                rdna3::conv_f16::NHWC_CHANNELS_32,
                rdna3::conv_f16::NHWC,
                xe2::conv_f16::NHWC_CHANNELS_32,
                xe2::conv_f16::NHWC,
                lavapipe::conv_f16::NHWC_CHANNELS_32,
                lavapipe::conv_f16::NHWC,
            ])?;
            Ok([direct, decomposed].concat())
        },
        dims: &[("N", 32), ("IH", 58), ("IW", 58), ("IC", 64), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv2d_winograd",
        about: "3x3 convolution of many channels, NHWC x HWCF, by Winograd's algorithm and directly",
        programs: || {
            let direct = programs(&[
                lavapipe::conv2d::CHANNELS_64,
                lavapipe::conv2d::ROWS_4X8,
                lavapipe::conv2d::COLUMNS_16X16,
                lavapipe::conv2d::PIXELS_8X32,
                hopper::conv2d::ROWS,
                hopper::conv2d::WINDOWS,
                ampere::conv2d::WINDOWS,
            ])?;
            let decomposed = programs(&[
                lavapipe::winograd::F4,
                lavapipe::winograd::F4_TILES,
                lavapipe::winograd::F4_F16,
                lavapipe::winograd::F4_ANY,
                valhall::winograd::F4,
                valhall::winograd::F4_F16,
                ampere::winograd::F4,
                ampere::winograd::F4_F16,
                hopper::winograd::F4,
                hopper::winograd::F4_ANY,
                hopper::winograd::F2_SMALL,
                hopper::winograd::F2,
                hopper::winograd::F4_F16,
                rdna3::winograd::F4,
                rdna3::winograd::F4_F16,
                plain::CONV2D_WINOGRAD,
            ])?;
            Ok([direct, decomposed].concat())
        },
        dims: &[("N", 2), ("IH", 10), ("IW", 10), ("IC", 1280), ("OC", 1280)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv_nchw",
        about: "3x3 convolution, NCHW x FCHW",
        programs: || {
            programs(&[
                lavapipe::conv_nchw::CHANNELS_8,
                lavapipe::conv_nchw::CHANNELS_32X4,
                hopper::conv_nchw::BORDERED,
                ampere::conv_nchw::BORDERED,
                lavapipe::conv_nchw::COLUMNS_16X16,
                ampere::conv_nchw::IMPLICIT_GEMM,
                plain::CONV_NCHW,
            ])
        },
        dims: &[("N", 2), ("IC", 64), ("IH", 130), ("IW", 130), ("OC", 32)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv_nchw_f16",
        about: "3x3 convolution of f16, NCHW x FCHW",
        programs: || programs(&[rdna3::conv_nchw::IMPLICIT_GEMM]),
        dims: &[("N", 2), ("IC", 64), ("IH", 130), ("IW", 130), ("OC", 32)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv_nchw_f16_f32",
        about: "3x3 convolution of f16, with accumulation in f32, NCHW x FCHW",
        programs: || {
            programs(&[
                hopper::conv_f16::NCHW_ROWS_7,
                hopper::conv_f16::NCHW_ROWS,
                hopper::conv_f16::NCHW,
                ampere::conv_f16::NCHW,
                rdna3::conv_f16::NCHW,
                xe2::conv_f16::NCHW,
                lavapipe::conv_f16::NCHW,
            ])
        },
        dims: &[("N", 32), ("IC", 64), ("IH", 58), ("IW", 58), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv_nchw_winograd",
        about: "3x3 convolution, NCHW x FCHW, by Winograd's algorithm",
        programs: || {
            programs(&[
                lavapipe::winograd::F4_NCHW,
                ampere::winograd::F4_NCHW,
                hopper::winograd::F4_NCHW,
                rdna3::winograd::F4_NCHW,
                plain::CONV_NCHW_WINOGRAD,
            ])
        },
        dims: &[("N", 2), ("IC", 64), ("IH", 130), ("IW", 130), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
    },
    Entry {
        name: "conv1x1",
        about: "pointwise convolution, bias and ReLU, NHWC",
        programs: || {
            programs(&[
                lavapipe::conv1x1::PIXELS_4X8,
                lavapipe::conv1x1::ROWS_4X8,
                hopper::conv1x1::PIXELS_32,
                hopper::conv1x1::PIXELS_128,
                ampere::conv1x1::PIXELS_32,
                ampere::conv1x1::PIXELS_128,
                lavapipe::conv1x1::COLUMNS_8X16,
                kernels::conv1x1::DEFAULT,
            ])
        },
        dims: &[("N", 1), ("H", 56), ("W", 56), ("IC", 240), ("OC", 64)],
        operations: |dim| dim("N") * dim("H") * dim("W") * dim("OC") * (2.0 * dim("IC") + 2.0),
    },
    Entry {
        name: "conv1x1_relu6",
        about: "pointwise convolution, bias and ReLU6, NHWC",
        programs: || programs(&[lavapipe::conv1x1::RELU6_PIXELS_4X8, kernels::conv1x1_relu6::DEFAULT]),
        dims: &[("N", 1), ("H", 56), ("W", 56), ("IC", 240), ("OC", 64)],
        operations: |dim| dim("N") * dim("H") * dim("W") * dim("OC") * (2.0 * dim("IC") + 3.0),
    },
    Entry {
        name: "depthwise",
        about: "3x3 depthwise convolution, NHWC",
        programs: || {
            programs(&[
                hopper::depthwise::PIXELS,
                ampere::depthwise::PIXELS,
                lavapipe::depthwise::PIXELS_4,
                lavapipe::depthwise::PIXELS_PINNED,
                kernels::depthwise::DEFAULT,
            ])
        },
        dims: &[("N", 1), ("IH", 114), ("IW", 114), ("C", 96)],
        operations: |dim| 2.0 * 9.0 * dim("N") * dim("OH") * dim("OW") * dim("C"),
    },
    Entry {
        name: "separable",
        about: "3x3 depthwise and pointwise convolution, NHWC",
        programs: || {
            programs(&[
                lavapipe::separable::REGISTERS,
                lavapipe::separable::SHARED,
                hopper::separable::SHARED,
                ampere::separable::SHARED,
                kernels::separable::DEFAULT,
            ])
        },
        dims: &[("N", 1), ("IH", 114), ("IW", 114), ("C", 96), ("OC", 64)],
        operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("C") * (9.0 + dim("OC")),
    },
];
