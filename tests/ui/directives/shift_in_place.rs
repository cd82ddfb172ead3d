//! A last tile moved back over elements that are updated in place.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

kernel! {
    pub fn added<N>(x: f32[N], y: &mut f32[N]) {
        y[i] = y[i] + x[i];
    }
}

schedule! {
    pub A: added for vulkan_1_1 {
        tile(i: 8 shift);
    }
}

fn main() {}
