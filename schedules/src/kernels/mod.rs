//! What is computed. No schedule can change it.

mod convolutions;
mod images;
mod matrices;
mod mobile;
mod random;
mod rows;
mod transformers;
mod vectors;

pub use convolutions::{conv_nchw, conv2d, conv3x3_f16};
pub use images::{blur, resize_bilinear};
pub use matrices::{matmul, matmul_f16, sgemm};
pub use mobile::{conv1x1, conv1x1_relu6, depthwise, separable};
pub use random::{philox, philox_uniform};
pub use rows::{layernorm, softmax};
pub use transformers::{attention, attention_grouped, attention_mixed, causal_attention, causal_attention_mixed};
pub use vectors::{add, argmax, gelu, saxpy, total};
