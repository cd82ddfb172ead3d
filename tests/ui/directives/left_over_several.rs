//! Several parallel axes that nothing runs.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn scale<B, N, M>(x: f32[B, N, M]) -> y: f32[B, N, M] { y[b, i, j] = x[b, i, j] * 2.0; }
}

schedule! {
    pub TILED: scale for vulkan_1_1 {
        distribute(b => workgroup(z));
        tile(i: 8, j: 16) => workgroup(y, x);
    }
}

schedule! {
    pub ROWS: scale for vulkan_1_1 {
        distribute(i => workgroup(x));
    }
}

fn main() {}
