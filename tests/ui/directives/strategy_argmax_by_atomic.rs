//! Tuples by atomics.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, mesa_lavapipe, vulkan_1_1};

tilewright::kernel! {
    fn best<N, K>(x: f32[N, K]) -> y: i32[N] {
        y[i] = argmax(k in 0..K) { x[i, k] };
    }
}

schedule! {
    pub A: best for vulkan_1_1 {
        distribute(i => workgroup(y));
        tile(k: 64) => workgroup(x), by: atomic;
    }
}

fn main() {}
