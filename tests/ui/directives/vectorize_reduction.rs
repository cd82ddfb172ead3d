//! A reduction axis in lanes.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 where K % 4 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        vectorize(k, 4);
    }
}

fn main() {}
