//! A profile without matrix units.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    pub V: squares for vulkan_1_1 where M % 32 == 0, N % 32 == 0 {
        tile(i: 32, j: 32) => workgroup(y, x);
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
