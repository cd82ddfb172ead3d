//! A placed stage that asks for more invocations than the nest around it tells apart.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::devices::mesa_lavapipe;
use tilewright::{kernel, schedule};

kernel! {
    pub fn sums<N>(x: f32[N]) -> y: f32[N, N] {
        let s[i, j]: f32[N, N] = x[i] + x[j];
        y[i, j] = s[i, j];
    }
}

schedule! {
    pub A: sums for mesa_lavapipe {
        tile(i: 4, j: 2) => workgroup(x, y);
        distribute(j => thread(z));
        compute_at(s, workgroup, to: shared);
        serial(i);
        s { fuse(i, j => q); tile(q: 6 => r); distribute(q => thread(linear)); serial(r); }
    }
}

fn main() {}
