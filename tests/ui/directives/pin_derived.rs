//! A dim that follows from others, and a parameter.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: conv for vulkan_1_1 {
        pin(OW, S);
    }
}

fn main() {}
