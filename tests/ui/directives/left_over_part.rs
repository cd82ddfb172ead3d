//! The part of a split that nothing runs, and axes of a stage within another nest, which `default` cannot plan.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::{arm_valhall, vulkan_1_1};

schedule! {
    pub A: copy for vulkan_1_1 {
        tile(i: 64, j: 8) => workgroup(y, x);
        distribute(i => thread(x));
    }
}

tilewright::kernel! {
    pub fn edges<N, M>(x: f32[N, M]) -> y: f32[N, M] {
        let rows[i, j]: f32[N, M] = sum(k in 0..3) { x.clamp()[i, j + k - 1] };
        y[i, j] = sum(k in 0..3) { rows.clamp()[i + k - 1, j] };
    }
}

schedule! {
    pub B: edges for vulkan_1_1 {
        tile(i: 4, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        compute_at(rows, workgroup, to: shared);
        rows { unroll(k); }
    }
}

schedule! {
    pub C: edges for vulkan_1_1 {
        tile(i: 4, j: 8) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        compute_at(rows, thread, to: register);
        rows { unroll(k); }
    }
}

fn main() {}
