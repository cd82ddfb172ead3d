//! An axis that was peeled is gone.

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
        tile(i: 8 peel => block) => workgroup(x);
        split(i, [_, 4] => a, b);
        unroll(i);
    }
}

fn main() {}
