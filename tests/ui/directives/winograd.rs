//! A convolution of stride 2, and an error above the tolerance.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn conv<S = 1, N, C>(x: f32[(N - 1) * S + 3, C], w: f32[3, C]) -> y: f32[N] {
        y[i] = sum(t in 0..3, c in 0..C) { x[i * S + t, c] * w[t, c] };
    }
}

schedule! {
    pub STRIDED: conv<S = 2> for vulkan_1_1 where C <= 512 {
        decompose_winograd(y => v, u, g, m: 2, tolerance: 1e-6);
    }
}

schedule! {
    pub INEXACT: conv for vulkan_1_1 where C <= 512 {
        decompose_winograd(y => v, u, g, m: 6, tolerance: 1e-7);
    }
}

fn main() {}
