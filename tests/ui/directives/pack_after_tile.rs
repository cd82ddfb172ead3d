//! A rewrite of the algebra after a directive.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        tile(i: 8) => workgroup(x);
        pack(a[i, k] => [i, k / 4, k % 4], when: dispatch);
    }
}

fn main() {}
