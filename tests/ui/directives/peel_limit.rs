//! More copies of a nest than there may be.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        tile(i: 64 peel, j: 64 peel) => workgroup(y, x);
        tile(i: 7 peel, j: 7 peel => j_b, k: 7 peel);
    }
}

fn main() {}
