//! The cost of a launch at given sizes, from the compiler's cost of its nest.

use crate::sizes::Sizes;
use tilewright_codegen::cost::Cost;
use tilewright_dsl::profile::Profile;
use tilewright_launch::{Program, Size};

/// The cost of a launch, summed over its dispatches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Totals {
    /// The float operations, including matrix units.
    pub(crate) flops: f64,
    /// The bytes of device memory that invocations read and write.
    pub(crate) asked: f64,
    /// The bytes that the launch must move, if each tensor is moved once.
    pub(crate) compulsory: f64,
    /// The least time in nanoseconds by the profile's rates. `None` if the profile has no rates.
    pub(crate) least: Option<f64>,
}

/// Returns the cost of a version's dispatches at given sizes. `None` if it does not fit in 64 bits.
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

/// Returns the least nanoseconds for this work. `products` are done by matrix units. A flop per nanosecond is a GFLOP/s, and a byte per
/// nanosecond a GB/s.
pub(crate) fn least([flops, products]: [f64; 2], bytes: f64, profile: &Profile) -> Option<f64> {
    let rate = |known: Option<u32>| known.filter(|n| *n > 0).map(f64::from);
    let (gflops, bandwidth) = (rate(profile.gflops)?, rate(profile.bandwidth)?);
    let matrices = if products > 0.0 { products / rate(profile.matrix_gflops)? } else { 0.0 };
    Some((flops / gflops).max(bytes / bandwidth).max(matrices))
}
