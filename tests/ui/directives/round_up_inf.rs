//! `round_up` of a product that can be zero times infinity.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: scaled for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(k: 4 round_up => k_o);
    }
}

fn main() {}
