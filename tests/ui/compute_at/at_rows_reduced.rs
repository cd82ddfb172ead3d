//! The elements of a stage in registers are distributed, and so is the reduction of each.

#![allow(unused_imports)]

use tilewright::devices::mesa_lavapipe;
use tilewright::{kernel, schedule};

kernel! {
    pub fn project<N, M, K>(a: f32[N, K], b: f32[K, M]) -> y: f32[N, M] {
        let p[i, j]: f32[N, M] = sum(k in 0..K) { a[i, k] * b[k, j] };
        y[i, j] = p[i, j] * p[i, j];
    }
}

schedule! {
    pub A: project for mesa_lavapipe where M == 64, K == 32 {
        tile(i: 1) => workgroup(x);
        distribute(j => thread(x));
        compute_at(p, workgroup, to: register);
        p { distribute(j => thread(x)); distribute(k => thread(y), by: tree); }
    }
}

fn main() {}
