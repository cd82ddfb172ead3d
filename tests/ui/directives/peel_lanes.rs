//! A range that ends at an axis in lanes.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

kernel! {
    pub fn below<N>(x: f32[N]) -> y: f32[N] { y[i] = sum(k in 0..i) { x[k] }; }
}

schedule! {
    pub A: below for vulkan_1_1 where N % 4 == 0 {
        tile(i: 64) => workgroup(x);
        tile(k: 8 peel);
        vectorize(i, 4);
        distribute(i => thread(x));
    }
}

fn main() {}
