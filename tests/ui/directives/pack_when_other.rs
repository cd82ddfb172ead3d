//! A tensor cannot be packed at another time.

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
        pack(a[i, k] => [k, i], when: calller);
        pack(b[k, j] => [j, k], whn: caller);
        pack(c[i, j] => [j, i], when: caller, when: dispatch);
    }
}

fn main() {}
