//! More subgroups than the profile guarantees.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, mesa_lavapipe, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for mesa_lavapipe {
        tile(i: 64, j: 8) => workgroup(y, x);
        distribute(i => subgroup(x));
    }
}

fn main() {}
