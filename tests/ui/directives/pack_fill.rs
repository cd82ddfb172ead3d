//! A filling that is no value of the type.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: codes for vulkan_1_1 {
        pack(x[i] => [i / 4, i % 4], when: dispatch, fill: 0.5);
        pack(y[i] => [i / 4, i % 4], when: dispatch, fill: K);
    }
}

fn main() {}
