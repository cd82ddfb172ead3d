//! Some invocations have no part of a row in registers.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::mesa_lavapipe;

schedule! {
    pub A: softmax for mesa_lavapipe where N == 256 {
        tile(b: 2) => workgroup(x);
        distribute(b => thread(y));
        split(j, [2, 32, 4] => j_r, j_t, j_v);
        distribute(j_t => thread(x));
        unroll(j_r, j_v);
        compute_at(s, workgroup, to: shared);
        compute_at(m, workgroup, to: shared);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(x)); unroll(b, r, v); }
        m, s { split(j, [2, 32, 4] => r, t, v); distribute(b => thread(y)); distribute(t => thread(x), by: subgroup); unroll(r, v); }
    }
}

fn main() {}
