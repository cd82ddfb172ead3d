//! The reader of a stage on matrices is distributed to threads in two dimensions.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: weights for nvidia_ampere where M % 32 == 0, N % 32 == 0, K % 16 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        compute_at(s, workgroup, to: shared, row_pad: 8);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        tile(i: 4, j: 4) => thread(y, x);
        unroll(i);
        vectorize(j, 4);
    }
}

fn main() {}
