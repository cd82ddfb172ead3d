//! A tail `shift` of three parts.

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
        split(i, [2, _, 4] shift => r, t, v);
    }
}

fn main() {}
