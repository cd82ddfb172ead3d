//! A row in registers has a bound.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::mesa_lavapipe;

schedule! {
    pub A: softmax for mesa_lavapipe {
        tile(b: 1) => workgroup(x);
        split(j, [_, 32, 4] => j_r, j_t, j_v);
        distribute(j_t => thread(x));
        serial(j_r); unroll(j_v);
        compute_at(s, workgroup, to: register);
        compute_at(m, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(x)); unroll(r, v); }
        m, s { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(x), by: subgroup); unroll(r, v); }
    }
}

fn main() {}
