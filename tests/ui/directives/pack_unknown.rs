//! What is packed is no tensor.

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
        pack(aa[i, k] => [k, i], when: dispatch);
        pack(q[i, k] => [k, i], when: dispatch);
    }
}

fn main() {}
