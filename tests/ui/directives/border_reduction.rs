//! A border of a reduction axis.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn k<N>(x: f32[N]) -> y: f32[N] where N >= 1 {
        y[i] = sum(k in 0..3) { x.clamp()[i + k] };
    }
}

schedule! {
    pub A: k for vulkan_1_1 {
        tile(i: 64) => workgroup(x);
        distribute(i => thread(x));
        border(k);
    }
}

fn main() {}
