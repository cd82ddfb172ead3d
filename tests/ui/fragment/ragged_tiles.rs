//! Tiles that an end cuts.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: squares for nvidia_ampere  {
        tile(i: 32, j: 32) => workgroup(y, x);
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
