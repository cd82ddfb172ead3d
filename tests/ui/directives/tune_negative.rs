//! A candidate below 0.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: copy for vulkan_1_1 {
        tune B in [8, 3 - 4] = 8;
        tile(i: B, j: B) => workgroup(y, x);
    }
}

fn main() {}
