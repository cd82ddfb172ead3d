//! A copy of the result that would fit, if it did not hold sums.

#![allow(unused_imports)]

#[path = "../support/products.rs"]
mod products;

use products::*;
use tilewright::schedule;

schedule! {
    pub V: rounded for small where M % 64 == 0, N % 32 == 0, K % 16 == 0 {
        tile(i: 64, j: 32) => workgroup(y, x);
        reorder(k, i, j);
        promote(c => c_s, at: workgroup, to: shared);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
