//! A default that is no candidate.

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
        tune B in [8, 16] = 32;
        tile(i: B, j: B) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
