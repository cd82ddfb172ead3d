//! Forms that other languages have: an arrow, a factor without a list, an input as a stage; and blocks of several stages that make one name.

#![allow(unused_imports)]

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn mm<M, N, K>(a: f32[M, K], b: f32[K, N]) -> c: f32[M, N] {
        c[i, j] = sum(k in 0..K) { a[i, k] * b[k, j] };
    }
}

kernel! {
    pub fn two<N, M>(x: f32[N + 2, M]) -> (a: f32[N, M], b: f32[N, M]) {
        a[i, j] = max(u in 0..3) { x[i + u, j] };
        b[i, j] = min(u in 0..3) { x[i + u, j] };
    }
}

schedule! {
    pub ARROW: mm for vulkan_1_1 {
        tile(i: 16, j: 16) -> workgroup(y, x);
    }
}

schedule! {
    pub FACTOR: mm for vulkan_1_1 {
        split(i, 8 => i_o, i_i);
    }
}

schedule! {
    pub INPUT: mm for vulkan_1_1 {
        compute_at(a, k, to: register);
    }
}

schedule! {
    pub TAKEN: two for vulkan_1_1 {
        a, b {
            tile(i: 8, j: 8) => workgroup(y, x);
            promote(x => x_s, at: workgroup, to: shared);
            promote(x => x_s, at: workgroup, to: shared);
            distribute(i, j => thread(y, x));
        }
    }
}

fn main() {}
