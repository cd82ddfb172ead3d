//! Maps that are not one to one.

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
        pack(a[i, k] => [i, k / 4, k % 8], when: dispatch);
        pack(b[k, j] => [k], when: dispatch);
        pack(c[i, j] => [i, j % 4], when: dispatch);
    }
}

fn main() {}
