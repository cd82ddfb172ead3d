//! Atomics that the profile does not have.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, mesa_lavapipe, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for arm_valhall {
        distribute(i, j => workgroup(y, x));
        tile(k: 64) => workgroup(z), by: atomic;
    }
}

fn main() {}
