//! Factors without copies, of a tile that is rounded up.

#![allow(unused_imports)]

#[path = "../support/products.rs"]
mod products;

use products::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: product<T = f16> for nvidia_ampere {
        tile(i: 32 round_up, j: 32 round_up) => workgroup(y, x);
        tile(k: 16 round_up => k_o);
        reorder(k_o, k, i, j);
        promote(c => c_s, at: workgroup, to: shared);
        tile(i: 16, j: 16) => subgroup(y, x);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
