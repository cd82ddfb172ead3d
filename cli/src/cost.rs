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
}

/// The work of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DispatchWork {
    /// The float operations of invocations, and the operations of matrix units.
    pub(crate) operations: [f64; 2],
    /// The bytes that it must move, if each tensor is moved once.
    pub(crate) bytes: f64,
}

/// Returns the cost of a version's dispatches at given sizes. `None` if it does not fit in 64 bits.
pub(crate) fn totals(costs: &[Cost], program: &Program, sizes: &Sizes) -> Option<Totals> {
    let dims = sizes.dims(program).ok()?;
    let eval = |size: &Size| size.eval(dims.values()).map(|n| n as f64);
    let mut all = Totals::default();
    for cost in costs {
        let workgroups = eval(&cost.workgroups())?;
        all.flops += operations(cost, &eval)?.iter().sum::<f64>();
        for traffic in &cost.tensors {
            all.asked += workgroups * (eval(&traffic.read)? + eval(&traffic.written)?);
        }
    }
    Some(all)
}

/// Returns the work of a version's dispatches at given sizes. `None` if it does not fit in 64 bits.
pub(crate) fn dispatches(costs: &[Cost], program: &Program, sizes: &Sizes) -> Option<Vec<DispatchWork>> {
    let dims = sizes.dims(program).ok()?;
    let eval = |size: &Size| size.eval(dims.values()).map(|n| n as f64);
    let work = |cost: &Cost| Some(DispatchWork { operations: operations(cost, &eval)?, bytes: eval(&cost.compulsory())? });
    costs.iter().map(work).collect()
}

/// Returns the operations of a dispatch: the float operations of invocations, and the operations of matrix units.
fn operations(cost: &Cost, eval: &dyn Fn(&Size) -> Option<f64>) -> Option<[f64; 2]> {
    let workgroups = eval(&cost.workgroups())?;
    let flops = eval(&cost.each.flops)? + eval(&cost.each.functions)?;
    Some([workgroups * flops, workgroups * eval(&cost.each.matrix_flops)?])
}

/// Returns the least nanoseconds of arithmetic by a profile's rates. `None` if it lacks them. A flop per nanosecond is a GFLOP/s.
pub(crate) fn arithmetic([flops, products]: [f64; 2], profile: &Profile) -> Option<f64> {
    let matrices = if products > 0.0 { products / rate(profile.matrix_gflops)? } else { 0.0 };
    Some((flops / rate(profile.gflops)?).max(matrices))
}

/// Returns a rate of a profile. `None` if it is unknown or 0.
pub(crate) fn rate(known: Option<u32>) -> Option<f64> {
    known.filter(|n| *n > 0).map(f64::from)
}
