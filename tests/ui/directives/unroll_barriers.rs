//! Many barriers in what is written out.

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
        tile(i: 16, j: 1) => workgroup(y, x);
        tile(k: 64 => k_t);
        distribute(k => thread(x), by: tree);
        unroll(i);
    }
}

fn main() {}
