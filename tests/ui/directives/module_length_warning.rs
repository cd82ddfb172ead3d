//! A long module is a warning.

#![deny(warnings)]

#![allow(unused_imports)]

#[path = "../support/profiles.rs"]
mod profiles;

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn quotients<N>(x: i32[N, N]) -> y: i32[N, N] {
        y[i, j] = (x[i, j] / x[j, i] % (x[i, j] + x[j, j]) << x[i, i]) % x[j, i] / (x[i, j] * 7);
    }
}

schedule! {
    pub A: quotients for vulkan_1_1 where N % 32 == 0 {
        tile(i: 8, j: 32) => workgroup(y, x);
        unroll(i, j);
    }
}

fn main() {}
