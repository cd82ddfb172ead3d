//! Kernels on matrix units, and with dot products of bytes.

mod dots;
pub(super) mod fragment;
mod fragment_rows;
mod mma;
mod mma_conv;
mod narrow;
