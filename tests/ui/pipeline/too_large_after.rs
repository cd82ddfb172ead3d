//! A copy that does not fit beside the buffers of others.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for arm_valhall {
        tile(i: 64, j: 128) => workgroup(y, x);
        tile(k: 32 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s[k, i], at: k_o, to: shared);
        pipeline(k_o, buffers: 3, prefetch: register);
        promote(b => b_s[k, j], at: k_o, to: shared);
        tile(i: 8, j: 8) => thread(y, x);
        unroll(i, j);
    }
}

fn main() {}
