//! What is another for each invocation, reduced together in registers.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::devices::mesa_lavapipe;
use tilewright::{kernel, schedule};

kernel! {
    pub fn rows<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let mean[i]: f32[R] = sum(k in 0..C) { x[i, k] };
        let spread[i]: f32[R] = sum(k in 0..C) { let d = x[i, k] - mean[i]; d * d };
        y[i, j] = (x[i, j] - mean[i]) * spread[i];
    }
}

schedule! {
    pub A: rows for mesa_lavapipe {
        tile(i: 4) => workgroup(x);
        distribute(i => thread(y));
        tile(j: 8 => j_o);
        distribute(j => thread(x));
        serial(j_o);
        compute_at(spread, i, to: register);
        compute_at(mean, i, to: register);
        mean { tile(k: 8 => k_o); distribute(k => thread(x), by: subgroup); }
    }
}

fn main() {}
