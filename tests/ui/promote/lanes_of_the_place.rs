//! Lanes of the axis at whose loop a copy is made.

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
        promote(b => b_r, at: j, to: register);
        tile(i: 1) => thread(y);
        vectorize(j, 4, unaligned: scalar);
    }
}

fn main() {}
