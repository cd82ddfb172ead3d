//! Subgroups whose lanes all do the same.

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
        tile(i: 4, j: 1) => workgroup(y, x);
        distribute(i => subgroup(x));
    }
}

fn main() {}
