//! `round_up` of the axis of an argmin: past its end there is no index.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn nearest<N, M>(x: f32[N, M]) -> at: i32[N] { at[i] = argmin(k in 0..M) { x[i, k] * x[i, k] }; }
}

schedule! {
    pub TILED: nearest for vulkan_1_1 where M >= 1 {
        distribute(i => workgroup(x));
        tile(k: 8 round_up);
    }
}

fn main() {}
