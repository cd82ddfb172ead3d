//! A copy that does not fit.

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
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(k: 64 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared, row_pad: 4);
        tile(i: 8, j: 8) => thread(y, x);
        unroll(i, j);
    }
}

fn main() {}
