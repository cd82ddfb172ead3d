//! A reduction over workgroups without a strategy.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, mesa_lavapipe, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        tile(k: 64) => workgroup(z);
        distribute(i, j => workgroup(y, x));
    }
}

fn main() {}
