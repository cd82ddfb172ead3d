//! A copy of the result that is shorter than a matrix.

#![allow(unused_imports)]

#[path = "../support/products.rs"]
mod products;

use products::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: rounded for nvidia_ampere where M % 16 == 0, N == 3, K % 16 == 0 {
        tile(i: 16, j: 16 round_up) => workgroup(y, x);
        tile(k: 16 => k_o);
        reorder(k_o, k, i, j);
        promote(b => b_s, at: k_o, to: shared, fill: 0.0);
        promote(c => c_s, at: workgroup, to: shared);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
