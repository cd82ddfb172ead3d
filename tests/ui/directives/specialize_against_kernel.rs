//! Facts under which there is no element that the kernel reads.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn nearest<N, M, H = N / 2>(x: f32[M, H], z: f32[N]) -> y: f32[N] {
        y[i] = x.clamp()[i, i] + z[i];
    }
}

schedule! {
    pub A: nearest for vulkan_1_1 {
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
        specialize(N == 1);
    }
}

schedule! {
    pub B: nearest for vulkan_1_1 where M % 4 == 0, N < 2 {
        tile(i: 8) => workgroup(x);
        distribute(i => thread(x));
    }
}

fn main() {}
