//! A tensor that is not read under the place: a copy of it is.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for arm_valhall {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared);
        promote(a => a_r[i], at: k, to: register);
        distribute(i, j => thread(y, x));
    }
}

fn main() {}
