//! More subgroups than there are.

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
        tile(k: 512 => k_o);
        distribute(k => thread(x), by: subgroup);
    }
}

fn main() {}
