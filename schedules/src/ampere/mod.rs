//! NVIDIA's Ampere: subgroups of 32, large shared memory, and reuse in registers.

pub mod attention;
pub mod attention_mixed;
pub mod conv_f16;
pub mod conv_nchw;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod sgemm;
pub mod vectors;
pub mod winograd;
