//! A border along an axis whose reads are not clamped.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn k<H, W>(x: f32[H, W + 1]) -> y: f32[H, W] {
        y[i, j] = x[i, j] + x[i, j + 1];
    }
}

schedule! {
    pub A: k for vulkan_1_1 {
        tile(i: 4, j: 32) => workgroup(y, x);
        distribute(i, j => thread(y, x));
        border(i, j);
    }
}

fn main() {}
