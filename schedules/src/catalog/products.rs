//! Products of matrices and vectors.

use super::{Entry, programs};
use crate::{ampere, hopper, kernels, lavapipe, plain, rdna3, valhall, xe2};

pub(super) const ENTRIES: &[Entry] = &[
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
];
