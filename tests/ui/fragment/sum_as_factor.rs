//! A sum in fragments as a factor.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: chain for nvidia_ampere where M % 16 == 0, H == 32, N % 16 == 0, K % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        reorder(h, i, j);
        compute_at(g, workgroup, to: fragment);
        g { reorder(k, i, h); mma(i, h, k, 16 x 16 x 16); }
        mma(i, j, h, 16 x 16 x 16);
        unroll(h);
    }
}

fn main() {}
