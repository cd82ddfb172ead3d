//! NVIDIA's Hopper.

pub mod attention;
pub mod attention_mixed;
pub mod conv2d;
pub mod conv3x3_f16;
pub mod conv_f16;
pub mod depthwise;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod random;
pub mod rows;
pub mod sgemm;
pub mod vectors;
pub mod winograd;
