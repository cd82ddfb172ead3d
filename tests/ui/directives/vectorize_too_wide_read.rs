//! More than 16 bytes of what is read.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};
use tilewright::kernel;

kernel! {
    pub fn halve<M, N>(x: i32[M, N]) -> y: f16[M, N] {
        y[i, j] = x[i, j] as f16;
    }
}

schedule! {
    pub A: halve for arm_valhall where N % 8 == 0 {
        tile(i: 8, j: 8) => workgroup(y, x);
        distribute(i => thread(y));
        vectorize(j, 8);
    }
}

fn main() {}
