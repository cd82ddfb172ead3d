//! A sum that sees the maximum otherwise than as an exponential below it, and a member that has become part of another stage.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn softmax<R, C>(x: f32[R, C]) -> (y: f32[R, C], z: f32[R]) {
        let m[i]: f32[R] = max(j in 0..C) { x[i, j] };
        let l[i]: f32[R] = sum(j in 0..C) { (x[i, j] - m[i]).exp() };
        y[i, j] = (x[i, j] - m[i]).exp() / l[i];
        z[i] = sum(j in 0..C) { m[i] - x[i, j] };
    }
}

schedule! {
    pub LINEAR: softmax for vulkan_1_1 {
        decompose_online(m, l, z);
    }
}

schedule! {
    pub GONE: softmax for vulkan_1_1 {
        decompose_online(m, l => m_b, l_b, block: 64);
        m {
            tile(i: 64) => workgroup(x);
        }
    }
}

fn main() {}
