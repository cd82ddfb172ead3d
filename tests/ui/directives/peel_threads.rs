//! Full tiles and a tail for the threads of one workgroup.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: copy for vulkan_1_1 {
        tile(i: 8 peel, j: 8) => thread(y, x);
    }
}

fn main() {}
