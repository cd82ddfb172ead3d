//! A result of no bounded size.

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
        distribute(i => workgroup(x));
        promote(y => y_s, at: workgroup, to: shared);
        tile(j: 64 => j_o);
        distribute(j => thread(x));
        serial(j_o);
    }
}

fn main() {}
