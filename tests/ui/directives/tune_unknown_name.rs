//! A number with a name that is no constant.

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
        tune BLOCK in [8, 16] = 8;
        tile(i: BLOK * 2, j: BLOCK) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
