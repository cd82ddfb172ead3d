//! Mesa's lavapipe, which runs eight invocations as one vector of the CPU. A computation that is uniform across eight adjacent
//! invocations is done only once, and eight contiguous elements are one access.

pub mod attention;
pub mod attention_mixed;
pub mod blur;
pub mod conv1x1;
pub mod conv2d;
pub mod conv_f16;
pub mod conv_nchw;
pub mod depthwise;
pub mod matmul;
pub mod matmul_f16;
pub mod products_f16;
pub mod products_narrow;
pub mod random;
pub mod resize;
pub mod rows;
pub mod separable;
pub mod sgemm;
pub mod vectors;
pub mod winograd;
