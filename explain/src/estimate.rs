//! Estimates the time of a dispatch: the roofline, and four reasons for which a dispatch takes longer.
//!
//! - Caches and shared memory serve every request of an invocation, and the roofline counts each tensor once. Their rate is a guess from
//!   the rate of arithmetic ([`BYTES_PER_FLOP`]).
//! - Neighbouring invocations that access distant elements, and bank conflicts, need more turns than bytes.
//! - Cores and lanes are idle if there are few workgroups, or if the last round of workgroups does not fill the device.
//! - A dispatch that waits for another one has a fixed cost ([`LAUNCH`]).
//!
//! The rates are the peaks of the profile, so most kernels take longer. Misses of caches and the latency of memory are not part of it.

use crate::figures::Figures;
use tilewright_codegen::cost::{Apart, Bottleneck, SubgroupAccess, resources};
use tilewright_dsl::profile::Profile;

/// The nanoseconds of a dispatch that does little work and waits for the one before it. An H200 takes 2.1 us (docs/calls.md).
pub(crate) const LAUNCH: f64 = 2_000.0;

/// The bytes that the cache or the shared memory of a core serves in the time of one f32 operation: a core of 128 lanes makes 256
/// operations a clock and serves 128 bytes (NVIDIA, Intel). A core of a CPU loads two vectors for two multiply-adds.
const BYTES_PER_FLOP: (f64, f64) = (0.5, 2.0);

/// The bytes that a cache serves at once. Neighbours that are further apart are served one by one.
const LINE: i64 = 128;

/// The subgroups that a core of a GPU runs in one clock.
const TOGETHER: i64 = 4;

/// The share of the device that has to be busy. Otherwise the idle part is the bottleneck.
const BUSY: f64 = 0.5;

/// The estimated time of a dispatch.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds. They are never less than the roofline's.
    pub nanoseconds: f64,
    /// The reason for most of the time.
    pub bound: Bottleneck,
    /// The share of the device that has work while the dispatch runs, at most 1.
    pub busy: f64,
    /// The nanoseconds that each resource needs if the whole device is busy, without resources that are not used.
    pub resources: Vec<(Bottleneck, f64)>,
}

impl Figures {
    /// Estimates the time on a device of a profile. `None` if sizes are missing, or if the profile does not give the device's rates.
    pub fn estimate(&self, profile: &Profile) -> Option<Estimate> {
        let caches = self.requested()? / (f64::from(profile.gflops?) * bytes_per_flop(profile));
        let mut resources = resources(self.flops, self.matrix_flops, self.compulsory, profile)?.to_vec();
        resources.push((Bottleneck::Caches, caches));
        let (bound, nanoseconds) = resources.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        resources.retain(|(_, nanoseconds)| *nanoseconds > 0.0);
        let busy = self.busy(bound, profile)?;
        let work = nanoseconds / busy;
        let bound = match () {
            () if LAUNCH >= work => Bottleneck::Launch,
            () if busy < BUSY => Bottleneck::Occupancy,
            () => bound,
        };
        Some(Estimate { nanoseconds: LAUNCH + work, bound, busy, resources })
    }

    /// Returns the bytes that caches and shared memory serve, as if every access were of neighbouring elements.
    fn requested(&self) -> Option<f64> {
        let global = self.moved.iter().map(|moved| {
            let own = self.touches.iter().filter(|touch| !touch.shared && !touch.matrix && touch.buffer == moved.name);
            Some(moved.read?.checked_add(moved.written?)? as f64 * mean(own.map(spread)))
        });
        let turns = self.touches.iter().filter(|touch| touch.shared).map(|touch| f64::from(touch.conflicts.unwrap_or(1)));
        Some(global.sum::<Option<f64>>()? + self.shared? as f64 * mean(turns))
    }

    /// Returns the share of the device that has work, if a resource is the bottleneck.
    fn busy(&self, bound: Bottleneck, profile: &Profile) -> Option<f64> {
        let workgroups = self.workgroups?.max(1);
        let cores = i64::from(profile.cores.unwrap_or(1)).max(1);
        let local: i64 = self.cost.local.iter().map(|n| i64::from(*n)).product();
        let rounds = rounded_up(workgroups, cores);
        let cores_busy = match bound {
            // All cores share the memory, so a last round that does not fill the device has all of it.
            Bottleneck::Memory => share(workgroups, cores),
            _ => share(workgroups, cores.saturating_mul(rounds)),
        };
        let Some(subgroup) = profile.subgroup.map(i64::from).filter(|_| !profile.cpu) else { return Some(cores_busy) };
        let resident = self.occupancy.map_or(rounds, |fits| rounds.min(i64::from(fits.workgroups.max(1))));
        let lanes = share(local, rounded_up(local, subgroup).saturating_mul(subgroup));
        let together = share(resident.saturating_mul(rounded_up(local, subgroup)), TOGETHER);
        Some(cores_busy * lanes * together)
    }
}

fn bytes_per_flop(profile: &Profile) -> f64 {
    if profile.cpu { BYTES_PER_FLOP.1 } else { BYTES_PER_FLOP.0 }
}

/// Returns the factor by which an access takes longer than one of neighbouring elements.
fn spread(touch: &SubgroupAccess) -> f64 {
    let bytes = i64::from(touch.bytes).max(1);
    let apart = match touch.apart {
        Some(Apart::Rows) => LINE,
        Some(Apart::Bytes(apart)) => apart.min(LINE),
        None => bytes,
    };
    (apart as f64 / bytes as f64).max(1.0)
}

/// Returns the mean of factors, or 1 if there are none.
fn mean(factors: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = factors.fold((0.0, 0), |(sum, count), factor| (sum + factor, count + 1));
    if count == 0 { 1.0 } else { sum / f64::from(count) }
}

/// Returns the share of the needed number that is there, at most 1.
fn share(has: i64, needs: i64) -> f64 {
    (has.max(1) as f64 / needs.max(1) as f64).min(1.0)
}

/// Returns the quotient of positive numbers, rounded up.
fn rounded_up(n: i64, by: i64) -> i64 {
    n / by + i64::from(n % by > 0)
}
