//! A schedule allows its own warnings, whatever the crate says; another one does not.

#![deny(warnings)]

#[path = "../support/kernels.rs"]
#[allow(dead_code)]
mod kernels;

use kernels::matmul;
use tilewright::devices::vulkan_1_1;

tilewright::schedule! {
    #[allow(deprecated)]
    pub A: matmul<T = f32> for vulkan_1_1 {
        tune B in [8, 16] = 8;
        tile(i: 8, j: 8) => workgroup(y, x);
        show;
        distribute(i, j => thread(y, x));
    }
}

tilewright::schedule! {
    pub B: matmul<T = f32> for vulkan_1_1 {
        show;
    }
}

fn main() {}
