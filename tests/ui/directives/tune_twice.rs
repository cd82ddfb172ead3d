//! A constant that is tuned twice, and a candidate that is there twice.

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
        tune B in [8, 16] = 8;
        tune B in [4] = 4;
        tune T in [2, 4, 2] = 2;
        tile(i: B, j: T) => workgroup(y, x);
    }
}

fn main() {}
