//! A loop that there is not.

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
        tile(b: 1) => workgroup(y);
        tile(j: 64) => workgroup(x);
        distribute(j => thread(x));
        compute_at(s, k, to: register);
    }
}

fn main() {}
