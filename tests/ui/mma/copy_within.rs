//! A copy at a loop of the reduction that stands within those of the rows and columns.

#![allow(unused_imports)]

#[path = "../support/products.rs"]
mod products;

use products::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: product<T = f16> for nvidia_ampere where M % 16 == 0, N % 16 == 0, K % 16 == 0 {
        tile(i: 16, j: 16) => workgroup(y, x);
        tile(k: 16 => k_o);
        promote(a => a_s, at: k_o, to: shared);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
