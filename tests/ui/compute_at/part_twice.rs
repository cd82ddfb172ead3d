//! Partial results that are placed before they are made, and twice.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: matmul<T = f32> for vulkan_1_1 {
        compute_at(part, workgroup, to: register);
        tile(k: 16 => k_o);
        rfactor(k_o => part);
        distribute(i, j => workgroup(y, x));
    }
}

schedule! {
    pub B: matmul<T = f32> for vulkan_1_1 {
        tile(k: 16 => k_o);
        rfactor(k_o => part);
        compute_at(part, k_o, to: register);
        distribute(i, j => workgroup(y, x));
        compute_at(part, workgroup, to: register);
    }
}

fn main() {}
