//! One buffer, stored between those that read it.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::{arm_valhall, vulkan_1_1};

kernel! {
    fn twice<N, M, D>(q: f32[N, D], x: f32[M, D]) -> o: f32[N, D] {
        let s[i, j]: f32[N, M] = sum(d in 0..D) { q[i, d] * x[j, d] };
        o[i, e] = sum(j in 0..M) { s[i, j] * x[j, e] };
    }
}

schedule! {
    pub A: twice for arm_valhall where D == 8 {
        tile(i: 8) => workgroup(x);
        tile(j: 8 => j_o);
        reorder(j_o, i, e, j);
        compute_at(s, j_o, to: shared);
        promote(x => x_s, at: j_o, to: shared);
        pipeline(j_o, x_s, buffers: 1, prefetch: register, store: after s);
        s { distribute(i, j => thread(y, x)); }
        distribute(i, e => thread(y, x));
    }
}

fn main() {}
