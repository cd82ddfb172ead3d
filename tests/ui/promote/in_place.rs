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
    pub A: sgemm for arm_valhall {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(c => c_s, at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
