//! The mark is there or not.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::vulkan_1_1;

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        emit(readonly: never);
    }
}

fn main() {}
