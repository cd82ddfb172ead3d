//! A reduction across invocations for which the copies leave no room.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, mesa_lavapipe, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        tile(i: 32) => workgroup(y);
        tile(k: 128 => k_o);
        distribute(j => workgroup(x));
        reorder(k_o, i, k);
        promote(a => a_s, at: k_o, to: shared);
        distribute(k => thread(x), by: tree);
        unroll(i);
    }
}

fn main() {}
