//! A border of an axis that does not exist.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn k<H, W>(x: f32[H, W]) -> y: f32[H, W] where H >= 1, W >= 1 {
        y[i, j] = x.clamp()[i - 1, j] + x.clamp()[i, j + 1];
    }
}

schedule! {
    pub A: k for vulkan_1_1 {
        tile(i: 4) => workgroup(x);
        split(j, [_, 8] => j_o, j_i);
        serial(j_o);
        distribute(i => thread(x));
        unroll(j_i);
        border(q);
    }
}

fn main() {}
