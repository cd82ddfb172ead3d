//! What becomes of a sum reads a copy, and the result has one, too.

#![allow(unused_imports)]

#[path = "../support/products.rs"]
mod products;

use products::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: biased for nvidia_ampere where M % 16 == 0, N % 16 == 0, K % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        promote(bias => bias_s, at: workgroup, to: shared);
        promote(c => c_s, at: workgroup, to: shared);
        reorder(k, i, j);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
