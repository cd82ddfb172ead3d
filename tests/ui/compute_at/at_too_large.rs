//! A footprint that does not fit.

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
        tile(i: 128, j: 128) => workgroup(y, x);
        tile(i: 8, j: 16 => j_t) => thread(y, x);
        serial(i, j);
        compute_at(r, workgroup, to: shared);
    }
}

fn main() {}
