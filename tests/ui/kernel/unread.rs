//! A `let` that no result depends on warns as an unused variable does, and is not computed. A schedule cannot name it.

use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    pub fn spread<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let mean[i]: f32[R] = sum(k in 0..C) { x[i, k] };
        let squares[i, j]: f32[R, C] = (x[i, j] - mean[i]) * (x[i, j] - mean[i]);
        let _later[i]: f32[R] = mean[i];
        let half = 0.5;
        y[i, j] = x[i, j];
    }
}

kernel! {
    /// The last level is not read, but the family is.
    pub fn levels<N>(x: f32[N]) -> y: f32[N] {
        let down[0][i]: f32[N] = x[i];
        for l in 1..4 {
            let down[l][i]: f32[N] = down[l - 1][i] * 0.5;
        }
        let up[0][i]: f32[N] = x[i];
        for l in 1..3 {
            let up[l][i]: f32[N] = up[l - 1][i] * 2.0;
        }
        y[i] = down[2][i];
    }
}

kernel! {
    #[allow(unused_variables)]
    pub fn allowed<N>(x: f32[N]) -> y: f32[N] {
        let sum[i]: f32[N] = x[i];
        y[i] = x[i];
    }
}

schedule! {
    pub BLOCK: spread for vulkan_1_1 {
        mean { tile(i: 8) => workgroup(x); }
    }
}

schedule! {
    pub PLACED: spread for vulkan_1_1 {
        root(squares);
    }
}

fn main() {}
