//! A footprint without a bound.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

kernel! {
    pub fn total<H, W>(x: f32[H, W]) -> y: f32[H] {
        let e[i, j]: f32[H, W] = x[i, j].exp();
        y[i] = sum(j in 0..W) { e[i, j] };
    }
}

schedule! {
    pub A: total for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        compute_at(e, workgroup, to: shared);
    }
}

fn main() {}
