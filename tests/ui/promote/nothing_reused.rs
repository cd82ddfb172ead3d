//! A copy that nothing reuses: a warning.

#![deny(warnings)]
#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: copy for vulkan_1_1 {
        tile(i: 8, j: 8) => workgroup(y, x);
        promote(x => x_s, at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
