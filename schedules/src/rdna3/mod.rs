//! AMD's RDNA 3: subgroups of 32.

pub mod attention;
pub mod attention_mixed;
pub mod conv_f16;
pub mod conv_nchw;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod products_narrow;
pub mod quantized;
pub mod rows;
pub mod winograd;
