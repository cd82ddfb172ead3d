//! A copy at a loop within that over the rows, of which the tile is one matrix.

#![allow(unused_imports)]

use tilewright::devices::amd_rdna3;
use tilewright::{kernel, schedule};

kernel! {
    pub fn row<K>(a: f16[K, 1], b: f16[K, K]) -> y: f32[1, K] {
        y[i, j] = sum(k in 0..K) { (a[k, i] as f32) * (b[j, k] as f32) };
    }
}

schedule! {
    pub V: row for amd_rdna3 {
        tile(i: 16 guard, j: 16) => workgroup(y, x);
        tile(k: 16 => k_o);
        promote(a => a_s, at: k_o, to: shared);
        mma(i, j, k, 16 x 16 x 16);
    }
}

fn main() {}
