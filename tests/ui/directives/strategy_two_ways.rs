//! Two strategies within a workgroup.

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
        distribute(i, j => workgroup(y, x));
        split(k, [_, 4, 8] => k_o, k_t, k_i);
        distribute(k_t => thread(y), by: tree);
        distribute(k_i => thread(x), by: subgroup);
    }
}

fn main() {}
