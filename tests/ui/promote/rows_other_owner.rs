//! A reduction has other invocations than the row that it reads.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::mesa_lavapipe;

schedule! {
    pub A: softmax for mesa_lavapipe where N == 256 {
        tile(b: 1) => workgroup(x);
        split(j, [2, 32, 4] => j_r, j_t, j_v);
        distribute(j_t => thread(y));
        unroll(j_r, j_v);
        compute_at(s, workgroup, to: register);
        compute_at(m, workgroup, to: register);
        promote(x => x_r, at: workgroup, to: register);
        x_r { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(y)); unroll(r, v); }
        s { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(x), by: subgroup); unroll(r, v); }
        m { split(j, [2, 32, 4] => r, t, v); distribute(t => thread(x), by: subgroup); unroll(r, v); }
    }
}

fn main() {}
