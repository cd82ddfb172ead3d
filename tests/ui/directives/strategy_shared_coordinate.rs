//! A parallel axis and a reduction's at one coordinate.

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
        tile(i: 4, j: 1) => workgroup(y, x);
        tile(k: 8 => k_o);
        distribute(i, k => thread(x, x), by: tree);
    }
}

fn main() {}
