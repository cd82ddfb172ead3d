//! A side that is split.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: squares for nvidia_ampere where M % 32 == 0, N % 32 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        fragment(i, j, 16 x 16);
        split(i_matrix, [2, 8] => a, b);
    }
}

fn main() {}
