//! A constant whose name the kernel has.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        tune K in [8] = 8;
        tune i in [8] = 8;
        tune a in [8] = 8;
        tile(j: 8) => workgroup(x);
    }
}

fn main() {}
