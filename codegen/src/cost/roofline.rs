//! The least time of a dispatch by the rates of a device.

use super::Cost;
use super::formula::{self, Sign};
use std::fmt;
use tilewright_dsl::launch::Size;
use tilewright_dsl::profile::Profile;

/// The least time that a dispatch can take on a device: the longest of the times of its flops at the peak rate, of its matrix flops
/// at the matrix units' peak rate, and of its tensors' bytes, each moved once, at the peak bandwidth. (Williams, Waterman and
/// Patterson, "Roofline", CACM 52(4), 2009.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Roofline {
    /// Nanoseconds.
    pub nanoseconds: f64,
    /// The resource that limits it.
    pub bound: Bottleneck,
}

/// The resource that limits a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bottleneck {
    /// Arithmetic.
    Compute,
    /// Products on matrix units.
    Matrices,
    /// Memory.
    Memory,
    /// Caches and shared memory, which serve every request. Only for estimates, like the following.
    Caches,
    /// Idle cores and lanes: too few workgroups, or too few invocations.
    Occupancy,
    /// The fixed cost of a dispatch.
    Launch,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bottleneck::Compute => "arithmetic",
            Bottleneck::Matrices => "matrix units",
            Bottleneck::Memory => "memory",
            Bottleneck::Caches => "caches and shared memory",
            Bottleneck::Occupancy => "occupancy",
            Bottleneck::Launch => "the launch itself",
        })
    }
}

/// Returns the nanoseconds that each resource needs for a dispatch, if the profile has the needed rates. Flops per nanosecond are
/// GFLOP/s, and bytes per nanosecond are GB/s.
pub fn resources(
    flops: Option<i64>,
    matrix_flops: Option<i64>,
    bytes: Option<i64>,
    profile: &Profile,
) -> Option<[(Bottleneck, f64); 3]> {
    let time = |amount: i64, rate: Option<u32>| match (amount, rate.filter(|n| *n > 0)) {
        (_, Some(rate)) => Some(amount as f64 / f64::from(rate)),
        (0, None) => Some(0.0),
        (_, None) => None,
    };
    profile.gflops?;
    Some([
        (Bottleneck::Memory, time(bytes?, Some(profile.bandwidth?))?),
        (Bottleneck::Compute, time(flops?, profile.gflops)?),
        (Bottleneck::Matrices, time(matrix_flops?, profile.matrix_gflops)?),
    ])
}

/// Returns the roofline if the profile has the needed rates.
pub fn roofline(flops: Option<i64>, matrix_flops: Option<i64>, bytes: Option<i64>, profile: &Profile) -> Option<Roofline> {
    let longest = resources(flops, matrix_flops, bytes, profile)?.into_iter().reduce(|a, b| if b.1 > a.1 { b } else { a });
    longest.map(|(bound, nanoseconds)| Roofline { nanoseconds, bound })
}

/// The bottleneck of a roofline whose sizes are not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoundBySize {
    /// The bottleneck at every size, if all tiles are full.
    Always(Bottleneck),
    /// Memory below this intensity in flops a byte, and the other resource above it.
    Below(f64, Bottleneck),
}

impl fmt::Display for BoundBySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BoundBySize::Always(bound) => write!(f, "bound by {bound} at every size"),
            BoundBySize::Below(intensity, other) => {
                write!(f, "bound by memory below {intensity:.1} flops a byte, and by {other} above")
            }
        }
    }
}

impl Cost {
    /// Returns the float operations of all workgroups, functions included.
    pub fn flops(&self) -> Size {
        self.each.flops.clone().plus(self.each.functions.clone()).times(self.workgroups())
    }

    /// Returns the operations of matrix units of all workgroups.
    pub fn matrix_flops(&self) -> Size {
        self.each.matrix_flops.clone().times(self.workgroups())
    }

    /// Returns the bottleneck as far as it is known without sizes. `None` if the profile lacks a rate, or if it depends on sizes whether matrix
    /// units or other arithmetic take longer.
    pub fn bound_by_size(&self, profile: &Profile) -> Option<BoundBySize> {
        let rate = |rate: Option<u32>| rate.filter(|n| *n > 0).map(i64::from);
        let (gflops, bandwidth) = (rate(profile.gflops)?, rate(profile.bandwidth)?);
        let compute = (Bottleneck::Compute, self.flops(), gflops);
        let (bound, work, rate) = match self.each.matrix_flops {
            Size::Const(0) => compute,
            _ => {
                let matrices = (Bottleneck::Matrices, self.matrix_flops(), rate(profile.matrix_gflops)?);
                match formula::sign((matrices.2, &compute.1), (compute.2, &matrices.1))? {
                    Sign::NotPositive => matrices,
                    Sign::NotNegative => compute,
                }
            }
        };
        // Compares the times of both, multiplied by both rates.
        Some(match formula::sign((bandwidth, &work), (rate, &self.compulsory())) {
            Some(Sign::NotPositive) => BoundBySize::Always(Bottleneck::Memory),
            Some(Sign::NotNegative) => BoundBySize::Always(bound),
            None => BoundBySize::Below(rate as f64 / bandwidth as f64, bound),
        })
    }
}
