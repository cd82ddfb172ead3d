//! Convolutions.

pub mod conv1x1;
pub mod conv2d;
pub mod conv_f16;
pub mod conv_nchw;
pub mod depthwise;
pub mod separable;
pub mod winograd;
