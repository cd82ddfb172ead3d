//! A copy that is made further out.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for arm_valhall where K <= 32 {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: workgroup, to: shared);
        promote(b => b_s[k, j], at: k_o, to: shared);
        pipeline(k_o, a_s, buffers: 2);
        tile(i: 2, j: 2) => thread(y, x);
        unroll(i, j);
    }
}

fn main() {}
