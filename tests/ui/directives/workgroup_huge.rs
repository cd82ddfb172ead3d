//! A workgroup of more invocations than 64 bits count.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn cube<N>(x: f32[N, N, N]) -> y: f32[N, N, N] {
        y[i, j, k] = x[i, j, k];
    }
}

schedule! {
    pub A: cube for vulkan_1_1 {
        tile(i: 4194304, j: 4194304, k: 4194304) => workgroup(z, y, x);
        distribute(i, j, k => thread(z, y, x));
    }
}

fn main() {}
