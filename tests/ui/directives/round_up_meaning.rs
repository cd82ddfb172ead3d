//! `round_up` of a maximum's axis: zero is not its identity.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: softmax for vulkan_1_1 {
        m { tile(b: 64) => workgroup(x); distribute(b => thread(x)); tile(j: 4 round_up); }
    }
}

fn main() {}
