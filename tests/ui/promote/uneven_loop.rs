//! A shared copy in a loop that invocations run differently.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: triangle for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        tile(j: 8 => j_o);
        promote(x => x_s, at: j_o, to: shared);
    }
}

fn main() {}
