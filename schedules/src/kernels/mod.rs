//! The kernels: the algorithms, which a schedule cannot change.

mod bits;
mod convolutions;
mod images;
mod matrices;
mod mobile;
mod quantized;
mod random;
mod rows;
mod transformers;
mod vectors;

pub use bits::{matmul_n_bits, matmul_n_bits_f16, matmul_n_bits_zeros};
pub use convolutions::{conv_nchw, conv_nchw_f16_f32, conv2d, conv2d_f16_f32, conv3x3_f16};
pub use images::{blur, resize_bilinear};
pub use matrices::{
    batched_matmul_f16, matmul, matmul_bf16, matmul_f16, matmul_f16_residual, matmul_f16_rounded, matmul_f16_sums, matmul_i8,
    matvec, sgemm,
};
pub use mobile::{conv1x1, conv1x1_relu6, depthwise, separable};
pub use quantized::{
    conv_nchw_q, conv1x1_q, conv2d_q, depthwise_q, dequantize, dequantize_blocked, dynamic_quantize, matmul_q, quantize,
    quantize_blocked,
};
pub use random::{philox, philox_uniform};
pub use rows::{layernorm, softmax};
pub use transformers::{attention, attention_grouped, attention_mixed, causal_attention, causal_attention_mixed};
pub use vectors::{add, argmax, gelu, saxpy, total};
