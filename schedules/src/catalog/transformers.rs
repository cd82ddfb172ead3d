//! Attention, and operations on rows.

use super::{Entry, programs};
use crate::{ampere, hopper, kernels, lavapipe, plain, rdna3, valhall, xe2};

pub(super) const ENTRIES: &[Entry] = &[
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
];
