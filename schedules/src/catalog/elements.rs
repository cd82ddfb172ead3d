//! Images, elements, random numbers and reductions.

use super::{Entry, programs};
use crate::{ampere, hopper, kernels, lavapipe, plain};

pub(super) const ENTRIES: &[Entry] = &[
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
