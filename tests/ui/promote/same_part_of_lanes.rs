//! A block that lets lanes copy the same part.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::nvidia_hopper;

schedule! {
    pub A: matmul<T = f32> for nvidia_hopper {
        tile(i: 16, j: 32) => workgroup(y, x);
        tile(k: 8 => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_s, at: k_o, to: shared);
        distribute(j => lane(x));
        serial(i);
        a_s { serial(i, k); }
    }
}

fn main() {}
