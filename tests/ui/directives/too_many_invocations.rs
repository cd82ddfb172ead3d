//! More invocations than the profile, in another file, guarantees.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: copy for profiles::tiny {
        tile(i: 16, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
