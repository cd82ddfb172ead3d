//! Every kernel with its variants, as data for programs that time them: the variants, and default sizes.

use crate::{ampere, hopper, kernels, lavapipe, plain, rdna3, valhall, xe2};
use tilewright::{Kernel, Result, Variant};
use tilewright_launch::Program;

/// Looks up a dim or parameter by its name in the kernel.
pub type Dim<'a> = &'a dyn Fn(&str) -> f64;

/// A kernel with its variants.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// A description of the computation.
    pub about: &'static str,
    /// Its variants, compiled.
    pub programs: fn() -> Result<Vec<Program>>,
    /// The dims that the shapes of its inputs name, with their default values.
    pub dims: &'static [(&'static str, i64)],
    /// Returns the number of arithmetic operations for given dims. A multiply-add counts as two.
    pub operations: fn(Dim<'_>) -> f64,
}

/// Every kernel. Variants for another shape of problem have a separate entry.
pub const ALL: [Entry; 48] = [
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
            use hopper::conv3x3_f16::{FILTER, ROWS, ROWS_7};
            programs(&[FILTER, ROWS_7, ROWS])
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
                hopper::conv_f16::NHWC_FILTER,
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
    Entry {
        name: "matmul",
        about: "matrix multiply",
        programs: || {
            programs(&[
                lavapipe::matmul::ROWS_8,
                lavapipe::matmul::ROWS_PINNED,
                lavapipe::matmul::ROWS_64,
                lavapipe::matmul::REGISTERS_8X8,
                hopper::matmul::TILES_32X64,
                hopper::matmul::TILES_64X64,
                hopper::matmul::TILES_128X128,
                hopper::matmul::PREFETCH_64X128,
                hopper::matmul::CHUNKS,
                hopper::matmul::ANY,
                hopper::matmul::REGISTERS_4X4,
                ampere::matmul::CHUNKS,
                ampere::matmul::ANY,
                rdna3::matmul::PLANNED,
                xe2::matmul::PLANNED,
                valhall::matmul::PLANNED,
                kernels::matmul::DEFAULT,
            ])
        },
        dims: &[("M", 512), ("N", 512), ("K", 512)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_f16",
        about: "product of f16, with accumulation in f32",
        programs: || {
            use hopper::matmul_f16 as hopper;
            programs(&[
                hopper::PINNED_128X128,
                hopper::PINNED_128X64,
                hopper::TILES_128X128,
                hopper::SLICED_128X128,
                hopper::SLICED_128X64,
                hopper::PADDED_128X128,
                hopper::PADDED_128X64,
                hopper::ANY,
                ampere::matmul_f16::ANY,
                rdna3::matmul_f16::WHOLE_128X128,
                rdna3::matmul_f16::ANY,
                lavapipe::matmul_f16::ROWS_64,
                lavapipe::matmul_f16::ROWS_32,
                lavapipe::matmul_f16::ANY,
                xe2::matmul_f16::WHOLE_128X128,
                xe2::matmul_f16::ANY,
                valhall::matmul::PLANNED_F16,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_bf16",
        about: "product of bf16, with accumulation in f32",
        programs: || {
            programs(&[
                hopper::products_narrow::BF16_128X128,
                hopper::products_narrow::BF16_ANY,
                ampere::products_narrow::BF16,
                rdna3::products_narrow::BF16,
                xe2::products_narrow::BF16,
                lavapipe::products_narrow::BF16_ROWS_64,
                valhall::matmul::PLANNED_BF16,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_i8",
        about: "product of 8-bit integers, with accumulation in 32 bits",
        programs: || {
            programs(&[
                hopper::products_narrow::I8_128X128,
                hopper::products_narrow::I8_ANY,
                ampere::products_narrow::I8,
                rdna3::products_narrow::I8,
                xe2::products_narrow::I8,
                lavapipe::products_narrow::I8_ROWS_64,
                lavapipe::products_narrow::I8_ANY,
                valhall::matmul::PLANNED_I8,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_f16_thin",
        about: "product of few rows of f16 with a matrix, with accumulation in f32",
        programs: || {
            programs(&[
                hopper::thin::ROW,
                hopper::thin::ROWS_8,
                hopper::thin::ROWS_16,
                hopper::thin::ROWS,
                ampere::thin::ROW,
                ampere::thin::ROWS_8,
                ampere::thin::ROWS_16,
                ampere::thin::ROWS,
            ])
        },
        dims: &[("M", 16), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matvec",
        about: "product of a matrix and a vector",
        programs: || programs(&[hopper::thin::VECTOR, ampere::thin::VECTOR, plain::MATVEC]),
        dims: &[("M", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("K"),
    },
    Entry {
        name: "matvec_f16",
        about: "product of a matrix and a vector of f16, with accumulation in f32",
        programs: || programs(&[hopper::thin::VECTOR_F16, ampere::thin::VECTOR_F16]),
        dims: &[("M", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("K"),
    },
    Entry {
        name: "batched_matmul_f16",
        about: "products of many pairs of f16, with accumulation in f32",
        programs: || {
            use hopper::products_f16 as hopper;
            programs(&[
                hopper::BATCHED_128X128,
                hopper::BATCHED,
                ampere::products_f16::BATCHED,
                rdna3::products_f16::BATCHED,
                xe2::products_f16::BATCHED,
                lavapipe::products_f16::BATCHED,
            ])
        },
        dims: &[("B", 64), ("M", 512), ("N", 512), ("K", 512)],
        operations: |dim| 2.0 * dim("B") * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_f16_rounded",
        about: "product of f16, with accumulation in f32 and a result in f16",
        programs: || {
            use hopper::products_f16 as hopper;
            programs(&[
                hopper::ROUNDED_128X128,
                hopper::ROUNDED,
                ampere::products_f16::ROUNDED,
                rdna3::products_f16::ROUNDED,
                xe2::products_f16::ROUNDED,
                lavapipe::products_f16::ROUNDED,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_f16_sums",
        about: "product of f16, with accumulation and a result in f16",
        programs: || {
            use hopper::products_f16 as hopper;
            programs(&[
                hopper::SUMS_128X128,
                hopper::SUMS,
                ampere::products_f16::SUMS,
                rdna3::products_f16::SUMS,
                xe2::products_f16::SUMS,
                lavapipe::products_f16::SUMS,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "matmul_f16_residual",
        about: "product of f16, with accumulation in f32, bias, ReLU and residual",
        programs: || {
            use hopper::products_f16 as hopper;
            programs(&[
                hopper::RESIDUAL_128X128,
                hopper::RESIDUAL,
                ampere::products_f16::RESIDUAL,
                rdna3::products_f16::RESIDUAL,
                xe2::products_f16::RESIDUAL,
                lavapipe::products_f16::RESIDUAL,
            ])
        },
        dims: &[("M", 4096), ("N", 4096), ("K", 4096)],
        operations: |dim| dim("M") * dim("N") * (2.0 * dim("K") + 3.0),
    },
    Entry {
        name: "split_k",
        about: "matrix multiply with few results and long sums",
        programs: || programs(&[lavapipe::matmul::SPLIT_K, hopper::matmul::SPLIT_K, ampere::matmul::SPLIT_K]),
        dims: &[("M", 64), ("N", 64), ("K", 65536)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "sgemm",
        about: "matrix multiply with alpha and beta, in place",
        programs: || {
            programs(&[
                lavapipe::sgemm::ROWS_8,
                lavapipe::sgemm::ROWS_8_ANY,
                hopper::sgemm::PREFETCH_128X128,
                hopper::sgemm::PREFETCH_64X128,
                hopper::sgemm::BUFFERS_128X128,
                ampere::sgemm::SGEMM,
                kernels::sgemm::DEFAULT,
            ])
        },
        dims: &[("M", 512), ("N", 512), ("K", 512)],
        operations: |dim| 2.0 * dim("M") * dim("N") * dim("K"),
    },
    Entry {
        name: "attention",
        about: "attention of f32, 64 elements per head",
        programs: || {
            programs(&[
                lavapipe::attention::ROWS,
                lavapipe::attention::ROW,
                lavapipe::attention::ROWS_ANY,
                valhall::attention::F32,
                ampere::attention::F32,
                hopper::attention::F32,
                hopper::attention::F32_ANY,
                rdna3::attention::F32,
                plain::ATTENTION,
            ])
        },
        dims: &[("B", 8), ("N", 1024), ("M", 1024), ("D", 64), ("E", 64)],
        operations: |dim| 2.0 * dim("B") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "attention_f16",
        about: "attention of f16, 64 elements per head",
        programs: || {
            programs(&[
                valhall::attention::F16,
                ampere::attention::F16,
                hopper::attention::F16,
                hopper::attention::F16_ANY,
                rdna3::attention::F16,
            ])
        },
        dims: &[("B", 8), ("N", 1024), ("M", 1024), ("D", 64), ("E", 64)],
        operations: |dim| 2.0 * dim("B") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "attention_mixed",
        about: "attention of f16 on matrix units, 64 elements per head",
        programs: || {
            programs(&[
                hopper::attention_mixed::HEADS_64,
                hopper::attention_mixed::HEADS_64_KHR,
                hopper::attention_mixed::HEADS_64_ROWS,
                hopper::attention_mixed::KEYS_64,
                ampere::attention_mixed::KEYS_64,
                ampere::attention_mixed::HEADS_64,
                rdna3::attention_mixed::HEADS_64,
                xe2::attention_mixed::HEADS_64,
                lavapipe::attention_mixed::HEADS_64,
            ])
        },
        dims: &[("B", 16), ("N", 1024), ("M", 1024), ("D", 64), ("E", 64)],
        operations: |dim| 2.0 * dim("B") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "attention_mixed_128",
        about: "attention of f16 on matrix units, 128 elements per head",
        programs: || {
            programs(&[
                hopper::attention_mixed::HEADS_128,
                hopper::attention_mixed::HEADS_128_KHR,
                hopper::attention_mixed::HEADS_128_KHR_64,
                ampere::attention_mixed::HEADS_128,
                rdna3::attention_mixed::HEADS_128,
                xe2::attention_mixed::HEADS_128,
                lavapipe::attention_mixed::HEADS_128,
            ])
        },
        dims: &[("B", 16), ("N", 1024), ("M", 1024), ("D", 128), ("E", 128)],
        operations: |dim| 2.0 * dim("B") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "attention_few",
        about: "attention of few queries of f16, 128 elements per head, by parts of the keys",
        programs: || programs(&[hopper::attention_mixed::KEYS_128, ampere::attention_mixed::KEYS_128]),
        dims: &[("B", 32), ("N", 1), ("M", 4096), ("D", 128), ("E", 128)],
        operations: |dim| 2.0 * dim("B") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "attention_grouped",
        about: "attention of f16 on matrix units, with queries in groups, 64 elements per head",
        programs: || {
            programs(&[
                hopper::attention_mixed::GROUPED_64,
                ampere::attention_mixed::GROUPED_64,
                rdna3::attention_mixed::GROUPED_64,
                xe2::attention_mixed::GROUPED_64,
                lavapipe::attention_mixed::GROUPED_64,
            ])
        },
        dims: &[("B", 2), ("H", 2), ("G", 4), ("N", 1024), ("M", 1024), ("D", 64), ("E", 64)],
        operations: |dim| 2.0 * dim("B") * dim("H") * dim("G") * dim("N") * dim("M") * (dim("D") + dim("E")),
    },
    Entry {
        name: "causal_attention_mixed",
        about: "causal attention of f16 on matrix units, 64 elements per head",
        programs: || {
            programs(&[
                hopper::attention_mixed::CAUSAL_64,
                hopper::attention_mixed::CAUSAL_64_KHR,
                ampere::attention_mixed::CAUSAL_64,
                rdna3::attention_mixed::CAUSAL_64,
                xe2::attention_mixed::CAUSAL_64,
                lavapipe::attention_mixed::CAUSAL_64,
            ])
        },
        dims: &[("B", 16), ("N", 1024), ("D", 64), ("E", 64)],
        operations: |dim| dim("B") * dim("N") * dim("N") * (dim("D") + dim("E")),
    },
    Entry {
        name: "causal_attention_mixed_128",
        about: "causal attention of f16 on matrix units, 128 elements per head",
        programs: || {
            programs(&[
                hopper::attention_mixed::CAUSAL_128,
                hopper::attention_mixed::CAUSAL_128_KHR,
                hopper::attention_mixed::CAUSAL_128_KHR_64,
                ampere::attention_mixed::CAUSAL_128,
                rdna3::attention_mixed::CAUSAL_128,
                xe2::attention_mixed::CAUSAL_128,
                lavapipe::attention_mixed::CAUSAL_128,
            ])
        },
        dims: &[("B", 16), ("N", 1024), ("D", 128), ("E", 128)],
        operations: |dim| dim("B") * dim("N") * dim("N") * (dim("D") + dim("E")),
    },
    Entry {
        name: "causal_attention",
        about: "causal attention of f32, 64 elements per head",
        programs: || {
            programs(&[
                lavapipe::attention::CAUSAL_ROWS,
                valhall::attention::CAUSAL_F32,
                ampere::attention::CAUSAL_F32,
                hopper::attention::CAUSAL_F32,
                rdna3::attention::CAUSAL_F32,
                plain::CAUSAL_ATTENTION,
            ])
        },
        dims: &[("B", 8), ("N", 1024), ("D", 64), ("E", 64)],
        operations: |dim| dim("B") * dim("N") * (dim("N") + 1.0) * (dim("D") + dim("E")),
    },
    Entry {
        name: "softmax",
        about: "softmax over rows",
        programs: || {
            programs(&[
                lavapipe::rows::SOFTMAX_1024,
                lavapipe::rows::SOFTMAX,
                lavapipe::rows::SOFTMAX_ONLINE,
                lavapipe::rows::SOFTMAX_ANY,
                hopper::rows::SOFTMAX_1024,
                hopper::rows::SOFTMAX_4096,
                ampere::rows::SOFTMAX_1024,
                ampere::rows::SOFTMAX_4096,
                rdna3::rows::SOFTMAX,
                kernels::softmax::DEFAULT,
            ])
        },
        dims: &[("R", 4096), ("C", 1024)],
        operations: |dim| 5.0 * dim("R") * dim("C"),
    },
    Entry {
        name: "layernorm",
        about: "layer normalization over rows",
        programs: || {
            programs(&[
                lavapipe::rows::LAYERNORM_1024,
                lavapipe::rows::LAYERNORM,
                lavapipe::rows::LAYERNORM_ANY,
                hopper::rows::LAYERNORM_1024,
                hopper::rows::LAYERNORM_4096,
                ampere::rows::LAYERNORM_1024,
                ampere::rows::LAYERNORM_4096,
                rdna3::rows::LAYERNORM,
                kernels::layernorm::DEFAULT,
            ])
        },
        dims: &[("R", 4096), ("C", 1024)],
        operations: |dim| 7.0 * dim("R") * dim("C"),
    },
    Entry {
        name: "blur",
        about: "separable blur of 5x5 pixels",
        programs: || programs(&[lavapipe::blur::TILES, lavapipe::blur::TWO_DISPATCHES, kernels::blur::DEFAULT]),
        dims: &[("H", 1024), ("W", 1024)],
        operations: |dim| 2.0 * 10.0 * dim("H") * dim("W"),
    },
    Entry {
        name: "resize_bilinear",
        about: "an image resized to other numbers of rows and columns, NHWC",
        programs: || programs(&[lavapipe::resize::PIXELS_4, lavapipe::resize::PIXELS, kernels::resize_bilinear::DEFAULT]),
        dims: &[("N", 1), ("IH", 540), ("IW", 960), ("C", 4), ("rows", 1080), ("columns", 1920)],
        operations: |dim| 9.0 * dim("N") * dim("rows") * dim("columns") * dim("C"),
    },
    Entry {
        name: "add",
        about: "sum of two vectors",
        programs: || programs(&[lavapipe::vectors::ADD, hopper::vectors::ADD, kernels::add::DEFAULT]),
        dims: &[("N", 1 << 24)],
        operations: |dim| dim("N"),
    },
    Entry {
        name: "saxpy",
        about: "a vector times a scalar, added to another one",
        programs: || programs(&[lavapipe::vectors::SAXPY, kernels::saxpy::DEFAULT]),
        dims: &[("N", 1 << 24)],
        operations: |dim| 2.0 * dim("N"),
    },
    Entry {
        name: "gelu",
        about: "the Gaussian error linear unit, exact",
        programs: || programs(&[lavapipe::vectors::GELU, hopper::vectors::GELU, plain::GELU]),
        dims: &[("N", 1 << 24)],
        operations: |dim| 33.0 * dim("N"),
    },
    Entry {
        name: "gelu_f16",
        about: "the Gaussian error linear unit of f16, exact",
        programs: || programs(&[lavapipe::vectors::GELU_F16, hopper::vectors::GELU_F16]),
        dims: &[("N", 1 << 24)],
        operations: |dim| 33.0 * dim("N"),
    },
    Entry {
        name: "philox",
        about: "random words by Philox-4x32-10",
        programs: || programs(&[lavapipe::random::PHILOX, hopper::random::PHILOX, kernels::philox::DEFAULT]),
        dims: &[("N", 1 << 22)],
        operations: |dim| 80.0 * dim("N"),
    },
    Entry {
        name: "philox_uniform",
        about: "random floats in 0 to 1 by Philox-4x32-10",
        programs: || {
            programs(&[lavapipe::random::PHILOX_UNIFORM, hopper::random::PHILOX_UNIFORM, kernels::philox_uniform::DEFAULT])
        },
        dims: &[("N", 1 << 22)],
        operations: |dim| 84.0 * dim("N"),
    },
    Entry {
        name: "sum",
        about: "sum of a vector",
        programs: || {
            programs(&[
                lavapipe::vectors::TOTAL,
                lavapipe::vectors::TOTAL_SUBGROUPS,
                lavapipe::vectors::TOTAL_LONG,
                lavapipe::vectors::TOTAL_DESCRIPTOR,
                lavapipe::vectors::TOTAL_UNIFORM,
                lavapipe::vectors::TOTAL_ATOMIC,
                lavapipe::vectors::TOTAL_SHORT,
                ampere::vectors::TOTAL,
                kernels::total::DEFAULT,
            ])
        },
        dims: &[("K", 1 << 24)],
        operations: |dim| dim("K"),
    },
    Entry {
        name: "argmax",
        about: "the index of the largest element of a vector",
        programs: || programs(&[lavapipe::vectors::ARGMAX, ampere::vectors::ARGMAX, kernels::argmax::DEFAULT]),
        dims: &[("K", 1 << 24)],
        operations: |dim| dim("K"),
    },
];

/// Returns the programs of variants.
fn programs<K: Kernel>(variants: &[Variant<K>]) -> Result<Vec<Program>> {
    variants.iter().map(Variant::program).collect()
}
