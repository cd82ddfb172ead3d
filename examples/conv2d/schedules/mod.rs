//! The schedules, which define how the algorithm runs, one file for each device. A file is a Rust module like any other. To try
//! another schedule, edit its file or name another file here.

pub mod hopper;
pub mod lavapipe;
pub mod plain;
pub mod valhall;
pub mod winograd;

use crate::kernel::conv2d;
use tilewright::Variant;

pub use {hopper::HOPPER, lavapipe::LAVAPIPE, plain::PLAIN, valhall::VALHALL, winograd::WINOGRAD};

/// A variant of the convolution of f32 that takes row-major filters.
pub type Conv = Variant<conv2d::Kernel<f32>>;

/// All variants of that type.
pub const ALL: [Conv; 4] = [VALHALL, LAVAPIPE, HOPPER, PLAIN];
