//! Intel's Xe2: subgroups of 16.

pub mod matmul_f16;
