//! A level to which nothing is distributed.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: softmax for vulkan_1_1 {
        tile(b: 1, j: 1) => workgroup(y, x);
        compute_at(s, thread, to: register);
    }
}

fn main() {}
