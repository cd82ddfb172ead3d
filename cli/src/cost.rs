//! What a launch costs at some sizes, by the compiler's cost of its nest.

use crate::sizes::Sizes;
use tilewright_dsl::cost::Cost;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{Program, Size};

/// The cost of a launch, all its dispatches together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// Float operations, those of matrix units too.
    pub(crate) flops: f64,
    /// Bytes of device memory that invocations read and write.
    pub(crate) asked: f64,
    /// Bytes that the launch has to move: each tensor once.
    pub(crate) compulsory: f64,
    /// The least time in nanoseconds by the profile's rates, if it has them.
    pub(crate) least: Option<f64>,
}

/// The costs of a version's dispatches at some sizes; `None` where 64 bits do not hold them.
pub(crate) fn totals(costs: &[Cost], program: &Program, sizes: &Sizes, profile: &Profile) -> Option<Totals> {
    let dims = sizes.dims(program).ok()?;
    let eval = |size: &Size| size.eval(dims.values()).map(|n| n as f64);
    let mut all = Totals { least: Some(0.0), ..Totals::default() };
    for cost in costs {
        let workgroups = eval(&cost.workgroups())?;
        let flops = workgroups * (eval(&cost.each.flops)? + eval(&cost.each.functions)?);
        let products = workgroups * eval(&cost.each.matrix_flops)?;
        let compulsory = eval(&cost.compulsory())?;
        for traffic in &cost.tensors {
            all.asked += workgroups * (eval(&traffic.read)? + eval(&traffic.written)?);
        }
        all.flops += flops + products;
        all.compulsory += compulsory;
        all.least = all.least.zip(least([flops, products], compulsory, profile)).map(|(all, this)| all + this);
    }
    Some(all)
}

/// The least nanoseconds of so much work, of which products are done by matrix units: flops a nanosecond are GFLOP/s, bytes a nanosecond GB/s.
pub(crate) fn least([flops, products]: [f64; 2], bytes: f64, profile: &Profile) -> Option<f64> {
    let rate = |known: Option<u32>| known.filter(|n| *n > 0).map(f64::from);
    let (gflops, bandwidth) = (rate(profile.gflops)?, rate(profile.bandwidth)?);
    let matrices = if products > 0.0 { products / rate(profile.matrix_gflops)? } else { 0.0 };
    Some((flops / gflops).max(bytes / bandwidth).max(matrices))
}
