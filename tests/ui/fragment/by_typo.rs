//! A strategy that is spelt otherwise.

#![allow(unused_imports)]

#[path = "../support/fragments.rs"]
mod fragments;

use fragments::*;
use tilewright::devices::{nvidia_ampere, nvidia_hopper};
use tilewright::schedule;

schedule! {
    pub V: softmax for nvidia_hopper where N == 64, M % 32 == 0, K % 16 == 0 {
        tile(i: 32) => workgroup(x);
        tile(i: 16) => subgroup(x);
        compute_at(l, workgroup, to: fragment);
        compute_at(e, workgroup, to: fragment);
        compute_at(m, workgroup, to: fragment);
        compute_at(s, workgroup, to: fragment);
        s { tile(i: 16) => subgroup(x); reorder(k, i, j); mma(i, j, k, 16 x 16 x 16); }
        m { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16, by: matrx); }
        e { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16); }
        l { tile(i: 16) => subgroup(x); fragment(i, j, 16 x 16, by: shared); }
        fragment(i, j, 16 x 16);
    }
}

fn main() {}
