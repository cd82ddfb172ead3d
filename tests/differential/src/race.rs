//! Times planned schedules of random kernels beside random legal schedules of the same kernels, at sizes that take long enough to be
//! measured.

use crate::case::{Case, points};
use crate::compile::variant;
use crate::kernel::Kernel;
use crate::kernel::tree::Expr;
use crate::schedule::tree::Schedule;
use crate::schedule::{self, facts};
use cpu_time::ProcessTime;
use fastrand::Rng;
use std::time::Duration;
use tilewright::{Device, Result};
use tilewright_check::Fill;
use tilewright_dsl::profile::Profile;
use tilewright_prove::launch::{Placed, inputs};

/// The points that a launch computes.
const POINTS: std::ops::RangeInclusive<i64> = 1 << 18..=1 << 21;

/// The attempts to find sizes, which grow with each attempt.
const SIZES: i64 = 400;

/// The attempts for each legal schedule.
const ATTEMPTS: usize = 20;

/// The launches of a schedule. The fastest counts.
const LAUNCHES: usize = 3;

/// A schedule is launched once if its first launch takes this many times as long as the planned one.
const HOPELESS: u32 = 3;

/// The times of a kernel's schedules.
#[derive(Clone, Debug)]
pub struct Raced {
    /// The sizes.
    pub dims: Vec<(String, i64)>,
    /// The time of the planned schedule.
    pub planned: Duration,
    /// The number of random schedules that ran.
    pub count: usize,
    /// The fastest random schedule, and its time.
    pub best: Option<(String, Duration)>,
}

impl Raced {
    /// Returns the time of the fastest random schedule, divided by the time of the planned one.
    pub fn ratio(&self) -> Option<f64> {
        let (_, best) = self.best.as_ref()?;
        Some(best.as_secs_f64() / self.planned.as_secs_f64().max(1e-9))
    }
}

/// Times the plan of a case's kernel beside `count` random legal schedules. Returns `None` if the kernel does not run at any sizes that are
/// long enough, for example because its dims are literals.
pub fn race(device: &Device, case: &Case, profile: &Profile, count: usize, random: &mut Rng) -> Option<Raced> {
    let dims = sizes(&case.kernel, random)?;
    let plan = Schedule { bindings: case.schedule.bindings.clone(), ..Schedule::default() };
    let planned = timed(device, case, &plan, profile, &dims, Duration::MAX)?;
    let mut raced = Raced { dims, planned, count: 0, best: None };
    for _ in 0..count * ATTEMPTS {
        if raced.count == count {
            break;
        }
        let made = schedule::generate(&case.kernel, case.generic, profile, random);
        if made.blocks.is_empty() || made.has("default") || !facts::hold(&case.kernel, &made.facts, &raced.dims) {
            continue;
        }
        let Some(time) = timed(device, case, &made, profile, &raced.dims, planned * HOPELESS) else { continue };
        raced.count += 1;
        if raced.best.as_ref().is_none_or(|(_, best)| time < *best) {
            raced.best = Some((made.to_string(), time));
        }
    }
    Some(raced)
}

/// Returns sizes that a kernel admits, with a number of points in [`POINTS`].
fn sizes(kernel: &Kernel, random: &mut Rng) -> Option<Vec<(String, i64)>> {
    (8..SIZES).find_map(|most| {
        let step = random.choice([1, 8])?;
        let one = |name: &str, random: &mut Rng| (name.to_owned(), (random.i64(most / 2..=most) + step - 1) / step * step);
        let dims: Vec<_> = kernel.dims().map(|name| one(name, random)).collect();
        let is_sound = kernel.generics.iter().all(|g| kernel.size(&Expr::name(&g.name), &dims).is_none_or(|n| n >= 1));
        (is_sound && POINTS.contains(&points(kernel, &dims)) && facts::hold(kernel, &kernel.facts, &dims)).then_some(dims)
    })
}

/// Returns the processor time of the fastest launch of a schedule. After a launch that takes longer than `limit`, there is not another one.
/// `None` if it does not compile, or does not run with these sizes, or if tensors are packed, because packing is not timed.
fn timed(
    device: &Device,
    case: &Case,
    schedule: &Schedule,
    profile: &Profile,
    dims: &[(String, i64)],
    limit: Duration,
) -> Option<Duration> {
    let made = variant(&case.kernel.to_string(), &schedule.to_string(), profile).ok()?;
    proc_macro2::extra::invalidate_current_thread_spans();
    if made.program.tensors.iter().any(|t| t.layout.is_some()) || !made.program.preparations.is_empty() {
        return None;
    }
    let dims: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let fill = |name: &str| case.fills.iter().find(|(n, _)| n == name).map_or(Fill::Small, |(_, fill)| *fill);
    let inputs = inputs(&made.algorithm, &dims, &case.scalars, &fill, &mut Rng::with_seed(case.values)).ok()?;
    // SAFETY: the compiler made this program.
    let kernel = unsafe { device.load_programs(vec![made.program.clone()]) }.ok()?;
    let mut placed = Placed::new(&kernel, &made.program, &made.algorithm, &inputs).ok()?;
    fastest(&mut placed, limit).ok()
}

fn fastest(placed: &mut Placed<'_>, limit: Duration) -> Result<Duration> {
    // The first launch makes the pipelines.
    placed.run()?;
    let mut best = Duration::MAX;
    for _ in 0..LAUNCHES {
        let start = ProcessTime::now();
        placed.run()?;
        best = best.min(start.elapsed());
        if best > limit {
            break;
        }
    }
    Ok(best)
}
