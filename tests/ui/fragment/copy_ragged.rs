//! A copy of what an end cuts.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: product for nvidia_ampere where M % 16 == 0, N % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(a => a_f, at: k_o, to: fragment, fill: 0.0);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0, row_pad: 8);
        mma(i, j, k, 16 x 16 x 16);
        unroll(k);
    }
}

fn main() {}
