//! More matrices than are written out.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: weights for nvidia_ampere where M % 2048 == 0, N % 1024 == 0, K % 16 == 0 {
        tile(i: 2048, j: 1024) => workgroup(y, x);
        compute_at(s, workgroup, to: fragment);
        s { reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
