//! A loop of many operations written out too often.

#![allow(unused_imports)]

#[path = "../support/profiles.rs"]
mod profiles;

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn taps<N>(x: f32[N]) -> y: f32[N] {
        y[i] = x.clamp()[i + 1] * 1.5 + x.clamp()[i + 2] * 2.5 + x.clamp()[i + 3] * 3.5 + x.clamp()[i + 4] * 4.5 + x.clamp()[i + 5] * 5.5 + x.clamp()[i + 6] * 6.5 + x.clamp()[i + 7] * 7.5 + x.clamp()[i + 8] * 8.5 + x.clamp()[i + 9] * 9.5 + x.clamp()[i + 10] * 10.5;
    }
}

schedule! {
    pub A: taps for vulkan_1_1 {
        tile(i: 4096) => workgroup(x);
        unroll(i);
    }
}

fn main() {}
