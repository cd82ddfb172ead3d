//! A last tile of a reduction moved back: points would be counted twice.

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
        distribute(i, j => workgroup(y, x));
        tile(k: 8 shift);
    }
}

fn main() {}
