//! A tensor that is read at an index of data.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: gather for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        promote(x => x_s, at: workgroup, to: shared);
        distribute(i => thread(x));
    }
}

fn main() {}
