//! Lanes read fragments.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::nvidia_ampere;
use tilewright::schedule;

schedule! {
    pub V: softmax for nvidia_ampere where M % 32 == 0, N == 64, K % 16 == 0 {
        tile(i: 32) => workgroup(x);
        tile(i: 16) => subgroup(x);
        compute_at(l, workgroup, to: shared);
        compute_at(l_p, workgroup, to: shared);
        compute_at(e, workgroup, to: fragment);
        compute_at(m, workgroup, to: shared);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        m { tile(i: 16) => subgroup(x); distribute(i => lane(x)); }
        l { split(j, [_, 16] => j_r, j); rfactor(j => l_p); tile(i: 16) => subgroup(x); distribute(i => lane(x)); unroll(j); }
        l_p { tile(i: 16) => subgroup(x); reorder(j_r, i, j); fragment(i, j, 16 x 16); unroll(j_r); }
        e { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
