//! The roofline: the least time that the arithmetic of a launch or the bytes that it moves allow.

use super::Job;
use super::curve::Curve;
use crate::cost::{arithmetic, rate};
use serde::{Deserialize, Serialize};
use tilewright_dsl::profile::Profile;

/// The rates of a device, which determine the rooflines of its rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeviceRates {
    pub(super) runner: String,
    pub(super) device: String,
    /// The profile whose rates of arithmetic hold for the device.
    pub(super) profile: Option<String>,
    /// The time in which the device moves a number of bytes. Empty if it could not be measured.
    pub(super) curve: Curve,
}

/// The least time of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roofline {
    pub(super) nanoseconds: f64,
    pub(super) by: LimitedBy,
}

/// The resource that allows no shorter time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LimitedBy {
    /// The rate of arithmetic of the device's profile.
    Arithmetic,
    /// The time in which the device moves as many bytes, or the bandwidth of its profile if that time is unknown.
    Memory,
}

impl LimitedBy {
    pub(super) fn word(self) -> &'static str {
        match self {
            LimitedBy::Arithmetic => "arithmetic",
            LimitedBy::Memory => "memory",
        }
    }
}

/// Returns the roofline of a job by the rates of the device's profile. If the device has none, the rates of the schedule's profile hold.
/// Without a curve, all rates must be known. With a curve and without rates of arithmetic, memory alone determines the roofline.
pub(super) fn roofline(job: &Job, curve: Option<&Curve>, rates: Option<&Profile>) -> Option<Roofline> {
    let rates = rates.or(job.made_for.as_ref());
    let bandwidth = rate(rates.and_then(|profile| profile.bandwidth));
    let (mut total, mut of_arithmetic, mut of_memory) = (0.0, 0.0, 0.0);
    for dispatch in &job.dispatches {
        let arithmetic = rates.and_then(|profile| arithmetic(dispatch.operations, profile));
        let (arithmetic, memory) = match curve {
            Some(curve) => (arithmetic.unwrap_or(0.0), curve.least(dispatch.bytes)),
            None => (arithmetic?, dispatch.bytes / bandwidth?),
        };
        total += arithmetic.max(memory);
        of_arithmetic += arithmetic;
        of_memory += memory;
    }
    let by = if of_arithmetic > of_memory { LimitedBy::Arithmetic } else { LimitedBy::Memory };
    (total > 0.0).then_some(Roofline { nanoseconds: total, by })
}
