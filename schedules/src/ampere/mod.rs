//! NVIDIA's Ampere: subgroups of 32, large shared memory, and reuse in registers.

pub mod attention;
pub mod attention_mixed;
pub mod conv1x1;
pub mod conv2d;
pub mod conv_f16;
pub mod conv_nchw;
pub mod depthwise;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod products_narrow;
pub mod quantized;
pub mod rows;
pub mod separable;
pub mod sgemm;
pub mod thin;
pub mod vectors;
pub mod winograd;
