//! A border of a copy.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = x.clamp()[i - 1, j] + x.clamp()[i, j + 1];
    }
}

schedule! {
    pub A: k for vulkan_1_1 {
        tile(i: 4, j: 32) => workgroup(y, x);
        promote(x => x_s, at: workgroup, to: shared);
        distribute(i, j => thread(y, x));
        x_s { border(i); }
    }
}

fn main() {}
