//! A place within each subgroup.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: weights for nvidia_ampere where M % 32 == 0, N % 32 == 0, K % 16 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        tile(i: 16) => subgroup(x);
        compute_at(s, subgroup, to: fragment);
        s { reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
