//! Bounds of a scalar that no number satisfies.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! { pub A: weighted for vulkan_1_1 where scale > 1.0, scale <= 0.5 {} }

fn main() {}
