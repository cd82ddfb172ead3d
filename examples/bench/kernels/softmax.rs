//! Softmax over rows: three stages, so three dispatches.

use super::{Workload, programs};
use tilewright::kernel;

kernel! {
    /// Each row's exponentials over their sum; the largest value is taken off first.
    pub fn softmax<R, C>(x: f32[R, C]) -> y: f32[R, C] {
        let largest[i]: f32[R] = max(k in 0..C) { x[i, k] };
        let total[i]: f32[R] = sum(k in 0..C) { (x[i, k] - largest[i]).exp() };
        y[i, j] = (x[i, j] - largest[i]).exp() / total[i];
    }
}

pub const WORKLOAD: Workload = Workload {
    name: "softmax",
    about: "softmax over rows",
    programs: || programs(&[softmax::DEFAULT]),
    dims: &[("R", 4096), ("C", 1024)],
    operations: |dim| 5.0 * dim("R") * dim("C"),
};
