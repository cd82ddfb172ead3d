//! A tensor that is updated in place.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: bump for vulkan_1_1 {
        pack(y[i] => [i / 4, i % 4], when: caller);
    }
}

fn main() {}
