//! Arm's Mali GPUs of the Valhall family.

pub mod attention;
pub mod conv2d;
pub mod matmul;
pub mod quantized;
pub mod winograd;
