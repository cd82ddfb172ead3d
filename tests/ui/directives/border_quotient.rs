//! A border whose index is not a sum of multiples of axes.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn k<N>(x: f32[N]) -> y: f32[2 * N] where N >= 1 {
        y[i] = x.clamp()[(i + 1) / 2];
    }
}

schedule! {
    pub A: k for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        border(i);
    }
}

fn main() {}
