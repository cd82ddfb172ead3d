//! Intel's Xe2: subgroups of 16.

pub mod attention_mixed;
pub mod conv_f16;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod products_narrow;
pub mod quantized;
