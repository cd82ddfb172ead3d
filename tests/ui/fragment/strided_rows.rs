//! Elements of a row that are not consecutive.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: turned for nvidia_ampere where M % 16 == 0, N % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
