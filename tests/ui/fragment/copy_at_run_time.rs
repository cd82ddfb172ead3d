//! A loop that is not written out indexes the copy.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: product for nvidia_ampere where M % 16 == 0, N % 16 == 0, K == 32 {
        tile(i: 16, j: 16) => workgroup(y, x);
        reorder(k, i, j);
        promote(a => a_f, at: workgroup, to: fragment);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
