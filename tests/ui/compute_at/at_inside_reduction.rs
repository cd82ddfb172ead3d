//! A place inside the reduction, of what the result reads.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

kernel! {
    pub fn blur<H, W>(x: f32[H, W]) -> y: f32[H, W] {
        let r[i, j]: f32[H, W] = sum(b in 0..3) { x.clamp()[i, j + b - 1] };
        y[i, j] = sum(a in 0..3) { r.clamp()[i + a - 1, j] } + r[i, j];
    }
}

schedule! {
    pub A: blur for vulkan_1_1 {
        tile(i: 8, j: 16) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        unroll(a);
        compute_at(r, a, to: register);
    }
}

fn main() {}
