//! Full tiles and a tail for the subgroups of one workgroup.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::{kernel, schedule};
use tilewright::devices::mesa_lavapipe;

schedule! {
    pub A: copy for mesa_lavapipe {
        tile(i: 8 peel) => subgroup(x);
    }
}

fn main() {}
