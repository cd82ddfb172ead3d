//! What can be timed.

mod add;
mod conv1x1;
mod depthwise;
mod matmul;
mod softmax;
mod split_k;
mod sum;

use crate::schedules;
use tilewright::{Kernel, Result, Variant};
use tilewright_launch::Program;

/// Looks up a dim by its name in the kernel.
pub type Dim<'a> = &'a dyn Fn(&str) -> f64;

/// A kernel with its variants.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it computes.
    pub about: &'static str,
    /// Its variants, compiled.
    pub programs: fn() -> Result<Vec<Program>>,
    /// The dims that its inputs' shapes name, and what they are unless said otherwise.
    pub dims: &'static [(&'static str, i64)],
    /// Arithmetic operations, a multiply-add as two, for dims by name.
    pub operations: fn(Dim<'_>) -> f64,
}

/// Every workload.
pub const ALL: [Workload; 9] = [
    CONV2D,
    conv1x1::WORKLOAD,
    depthwise::WORKLOAD,
    matmul::WORKLOAD,
    split_k::WORKLOAD,
    softmax::WORKLOAD,
    add::WORKLOAD,
    sum::SUM,
    sum::ARGMAX,
];

const CONV2D: Workload = Workload {
    name: "conv2d",
    about: "3x3 convolution with stride 2, NHWC x HWCF",
    programs: || programs(&schedules::ALL),
    dims: &[("N", 1), ("IH", 225), ("IW", 225), ("IC", 3), ("OC", 32)],
    operations: |dim| 2.0 * dim("N") * dim("OH") * dim("OW") * dim("OC") * 9.0 * dim("IC"),
};

/// The programs of variants.
fn programs<K: Kernel>(variants: &[Variant<K>]) -> Result<Vec<Program>> {
    variants.iter().map(Variant::program).collect()
}
