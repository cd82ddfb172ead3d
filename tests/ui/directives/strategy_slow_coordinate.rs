//! Subgroups that lie along another axis.

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
        tile(i: 1, j: 4) => workgroup(y, x);
        tile(k: 16 => k_o);
        distribute(k, j => thread(y, x), by: subgroup);
    }
}

fn main() {}
