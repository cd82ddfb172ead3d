//! Parts of subgroups, but not of their lanes.

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
        tile(i: 1, j: 8) => workgroup(y, x);
        tile(k: 4 => k_o);
        distribute(k => subgroup(x), by: subgroup);
        distribute(j => lane(x));
    }
}

fn main() {}
