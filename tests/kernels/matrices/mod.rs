//! Kernels on matrix units.

pub(super) mod fragment;
mod fragment_rows;
mod mma;
mod mma_conv;
mod narrow;
