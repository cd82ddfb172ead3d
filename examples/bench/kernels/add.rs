//! A sum of vectors: memory and nothing else.

use super::{Workload, programs};
use tilewright::devices::vulkan_1_1;
use tilewright::{kernel, schedule};

kernel! {
    /// `z = x + y`.
    pub fn add<N>(x: f32[N], y: f32[N]) -> z: f32[N] {
        z[i] = x[i] + y[i];
    }
}

schedule! {
    /// Four elements an invocation.
    pub LANES_4: add for vulkan_1_1 where N % 4 == 0 {
        tile(i: 256) => workgroup(x);
        tile(i: 4) => thread(x);
        vectorize(i, 4);
    }
}

pub const WORKLOAD: Workload = Workload {
    name: "add",
    about: "sum of two vectors",
    programs: || programs(&[LANES_4, add::DEFAULT]),
    dims: &[("N", 1 << 24)],
    operations: |dim| dim("N"),
};
