//! An index that depends on data, and a name that is used.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn gathered<M, N, C>(ids: i32[N], x: f32[M, C], w: f32[3, C]) -> y: f32[N] {
        y[i] = sum(t in 0..3, c in 0..C) { x.clamp()[ids[i] + t, c] * w[t, c] };
    }
}

kernel! {
    pub fn conv<N, C>(x: f32[N * 2 + 1, C], w: f32[3, C]) -> y: f32[N] {
        y[i] = sum(t in 0..3, c in 0..C) { x[i * 2 + t, c] * w[t, c] };
    }
}

schedule! {
    pub BY_DATA: gathered for vulkan_1_1 {
        decompose_im2col(y => cols, gemm);
    }
}

schedule! {
    pub USED: conv for vulkan_1_1 {
        decompose_im2col(y => x, gemm);
    }
}

fn main() {}
