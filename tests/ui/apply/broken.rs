//! A list of directives with errors of its own: schedules that apply it report no further ones.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    pub TILES<T = 64> {
        tile(i: T) => workgroop(x);
        distribut(i => thread(x));
    }
}

schedule! { pub A: copy for vulkan_1_1 { apply TILES<T = 8>; } }
schedule! { pub B { apply TILES<T = 8>; } }

fn uses() {
    let _ = A;
}

fn main() {}
