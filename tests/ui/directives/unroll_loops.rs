//! Many loops in what is written out.

#![allow(unused_imports)]

#[path = "../support/profiles.rs"]
mod profiles;

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn gram<N, K>(x: f32[N, K], z: f32[N, K]) -> y: f32[N, N] {
        y[i, j] = sum(k in 0..K) { x[i, k] * z[j, k] };
    }
}

schedule! {
    pub A: gram for vulkan_1_1 {
        tile(i: 8, j: 16) => workgroup(y, x);
        unroll(i, j);
    }
}

fn main() {}
