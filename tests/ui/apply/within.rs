//! An error in directives that several schedules apply: at the directive, with the schedule that applies it.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    pub TILES<T = 64> {
        tile(i: T) => workgroup(x);
        tile(z: T) => thread(x);
    }
}

schedule! {
    /// Applies it through another one.
    pub OUTER<U = 32> {
        apply TILES<T = U * 2>;
    }
}

schedule! { pub A: copy for vulkan_1_1 { apply TILES<T = 0>; } }
schedule! { pub B: copy for vulkan_1_1 { apply OUTER<U = 4>; } }

fn main() {}
