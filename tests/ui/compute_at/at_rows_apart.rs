//! A row that is computed in registers reads what each invocation has for itself.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::mesa_lavapipe;

schedule! {
    pub A: softmax for mesa_lavapipe where N == 256 {
        tile(b: 1) => workgroup(x);
        split(j, [8, 32] => j_r, j_t);
        distribute(j_t => thread(x));
        unroll(j_r);
        compute_at(s, workgroup, to: register);
        compute_at(e, workgroup, to: register);
        compute_at(m, workgroup, to: register);
        e { split(j, [8, 32] => r, t); distribute(t => thread(x)); unroll(r); }
        s { split(j, [8, 32] => r, t); distribute(t => thread(x), by: subgroup); unroll(r); }
    }
}

fn main() {}
