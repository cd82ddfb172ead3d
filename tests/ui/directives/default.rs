//! `default` twice, and for a stage and a copy in the nest of another stage.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;
#[path = "../support/profiles.rs"]
mod profiles;

use kernels::*;
use tilewright::schedule;
use tilewright::devices::vulkan_1_1;

schedule! {
    pub TWICE: copy for vulkan_1_1 { default; unroll(i); default; }
}

schedule! {
    pub COPY: copy for vulkan_1_1 {
        tile(i: 8, j: 16) => workgroup(y, x);
        promote(x => x_s, at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
        x_s { default; }
    }
}

fn main() {}
