//! A number that the applied schedule does not have, one that is given twice, a value that cannot be read, and numbers that are not used.

#![allow(unused_imports)]

#[path = "../support/kernels.rs"]
mod kernels;

use kernels::*;
use tilewright::devices::vulkan_1_1;
use tilewright::schedule;

schedule! {
    pub TILES<WIDTH = 64> {
        tile(i: WIDTH) => workgroup(x);
        distribute(i => thread(x)); serial(j);
    }
}

schedule! { pub A: copy for vulkan_1_1 { apply TILES<WIDHT = 8>; } }
schedule! { pub B: copy for vulkan_1_1 { apply TILES<WIDTH = 8, WIDTH = 16>; } }
schedule! { pub C: copy for vulkan_1_1 { apply TILES<WIDTH = 8 8>; } }
schedule! { pub D: copy for vulkan_1_1 { apply TILES(WIDTH = 8); } }
schedule! { pub E<R = 8>: copy for vulkan_1_1 { serial(i, j); } }
schedule! { pub F<R = 8, S = R * 2> { tile(i: 8) => workgroup(x); } }

fn main() {}
