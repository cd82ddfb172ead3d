//! Arm's Mali GPUs of the Valhall family.

pub mod conv2d;
pub mod winograd;
