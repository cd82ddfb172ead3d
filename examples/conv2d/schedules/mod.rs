//! The schedules: how the algorithm runs, one file for each device. A file is a Rust module like any other; to try another
//! schedule, edit its file or name another one here.

pub mod hopper;
pub mod lavapipe;
pub mod plain;
pub mod valhall;

use crate::kernel::conv2d;
use tilewright::{DeviceInfo, Variant};

pub use {hopper::HOPPER, lavapipe::LAVAPIPE, plain::PLAIN, valhall::VALHALL};

/// A variant of the convolution of f32.
pub type Conv = Variant<conv2d::Kernel<f32>>;

/// Every variant.
pub const ALL: [Conv; 4] = [VALHALL, LAVAPIPE, HOPPER, PLAIN];

/// The variants to try on a device, in order. A variant runs wherever its requirements are met, also on devices that it was
/// not made for: which one is best where is for the program to say.
pub fn for_device(info: &DeviceInfo) -> Vec<Conv> {
    let name = info.name.to_lowercase();
    let made_for_it = match () {
        () if name.contains("llvmpipe") => LAVAPIPE,
        () if name.contains("nvidia") => HOPPER,
        () => VALHALL,
    };
    vec![made_for_it, PLAIN]
}
