//! Lints of dispatches that are too small for their device: fewer workgroups than cores, few invocations in all, or workgroups of one
//! invocation.

use super::planner::JudgedDispatch;
use super::{Advice, LintName, Look};
use crate::figures::Figures;
use tilewright_dsl::profile::Profile;

/// The cores of a GPU whose profile does not state them. `vulkan_1_1` has the same guess.
const CORES: u32 = 8;

/// The size of a subgroup that is not known: 16 is the smallest of the bundled GPUs.
const LANES: u32 = 16;

/// The rates of a GPU whose profile does not state them, in GFLOP/s and GB/s. They equal the rates of `arm_valhall`, the slowest
/// bundled GPU. A faster device would lose less time, so higher rates find fewer dispatches.
const RATES: (u32, u32) = (765, 51);

/// The share of the device that may be idle.
const IDLE: f64 = 0.25;

/// The lost nanoseconds that are reported. Less does not matter, because the remedy is often a second dispatch, which can take 10 us.
const LOST: f64 = 20_000.0;

/// The figures of a device, with guesses for the figures that its profile does not state.
struct Capacity {
    cores: i64,
    /// The invocations of a subgroup.
    lanes: i64,
    gflops: f64,
    matrix_gflops: f64,
    bandwidth: f64,
}

impl Capacity {
    fn of(profile: &Profile) -> Capacity {
        let cores = i64::from(profile.cores.unwrap_or(CORES)).max(1);
        let lanes = i64::from(profile.subgroup.unwrap_or(LANES)).max(1);
        let rate = |stated: Option<u32>, guess: u32| f64::from(stated.unwrap_or(guess).max(1));
        let gflops = rate(profile.gflops, RATES.0);
        Capacity {
            cores,
            lanes,
            gflops,
            matrix_gflops: profile.matrix_gflops.map_or(gflops, |rate| f64::from(rate.max(1))),
            bandwidth: rate(profile.bandwidth, RATES.1),
        }
    }

    /// Returns the share of the device that has work, at most 1. The device needs a workgroup for each core, and an invocation for each
    /// lane of each core.
    fn busy(&self, figures: &Figures) -> Option<f64> {
        let (workgroups, all) = (figures.workgroups.filter(|n| *n > 0)?, invocations(figures)?);
        let lanes = self.cores * self.lanes;
        Some(share(workgroups, self.cores).min(share(all, lanes)))
    }

    /// Returns the least time of a dispatch in nanoseconds, if the whole device is busy.
    fn least(&self, figures: &Figures) -> Option<f64> {
        let time = |amount: Option<i64>, rate: f64| Some(amount? as f64 / rate);
        let parts = [
            time(figures.flops, self.gflops)?,
            time(figures.matrix_flops, self.matrix_gflops)?,
            time(moved(figures), self.bandwidth)?,
        ];
        parts.into_iter().reduce(f64::max)
    }

    /// Returns the time of a dispatch in nanoseconds, if the busy lanes of the busy cores work at their full rates. A workgroup occupies
    /// whole subgroups.
    fn estimate(&self, figures: &Figures) -> Option<f64> {
        let workgroups = figures.workgroups.filter(|n| *n > 0)?;
        Some(self.least(figures)? / share(workgroups, self.cores) / share(local(figures), self.lanes))
    }
}

/// Returns the share of the needed number that is there, at most 1.
fn share(has: i64, needs: i64) -> f64 {
    (has.max(1) as f64 / needs.max(1) as f64).min(1.0)
}

/// Returns the bytes that a dispatch has to move. A dispatch that reads a few rows of a large tensor does not move all of it.
fn moved(figures: &Figures) -> Option<i64> {
    figures.moved.iter().try_fold(0i64, |sum, moved| {
        let asked = moved.read?.checked_add(moved.written?)?;
        sum.checked_add(asked.min(moved.whole?))
    })
}

/// Returns the number of invocations of a workgroup.
fn local(figures: &Figures) -> i64 {
    figures.cost.local.iter().map(|n| i64::from(*n)).product()
}

/// Returns the number of invocations of a dispatch.
fn invocations(figures: &Figures) -> Option<i64> {
    figures.workgroups?.checked_mul(local(figures))
}

impl Look<'_> {
    /// Reports a dispatch that is too small for the device, if a busy device would save time.
    pub(super) fn size(&mut self) {
        let (figures, device) = (self.figures, Capacity::of(&self.subject.profile));
        let (Some(now), Some(busy)) = (device.estimate(figures), device.busy(figures)) else { return };
        // A dispatch that is short anyway cannot become much faster.
        if device.least(figures).is_none_or(|least| now - least < LOST) {
            return;
        }
        if busy <= 1.0 - IDLE {
            self.few_workgroups(&device, now);
        } else if local(figures) == 1 {
            self.one_invocation(&device, now);
        }
    }

    /// Reports a dispatch that leaves cores idle.
    fn few_workgroups(&mut self, device: &Capacity, now: f64) {
        let (workgroups, cores) = (self.figures.workgroups.unwrap_or(0), device.cores);
        let all = invocations(self.figures).unwrap_or(0);
        let what = match (workgroups, all) {
            (_, 1) => format!("one invocation does all the work, and the device has {cores} cores"),
            (1, _) => format!("one workgroup does all the work, and the device has {cores} cores"),
            _ if workgroups < cores => format!("the dispatch has {workgroups} workgroups, and the device has {cores} cores"),
            _ => format!("the dispatch has {all} invocations, and {cores} cores run {} in step", cores * device.lanes),
        };
        let split = if self.chains.is_empty() { "" } else { ", or split the reduction by `rfactor`" };
        let advice = format!("make the tiles smaller{split}, for at least {cores} workgroups");
        let better = |judged: &JudgedDispatch<'_>| device.estimate(judged.figures);
        self.note_planned(LintName::FewWorkgroups, what, Advice::general(advice), now, &better);
    }

    /// Reports workgroups of one invocation.
    fn one_invocation(&mut self, device: &Capacity, now: f64) {
        let what = match self.subject.profile.subgroup {
            Some(lanes) => format!("a workgroup has one invocation, so all others of its subgroup of {lanes} are idle"),
            None => "a workgroup has one invocation, so all others of its subgroup are idle".into(),
        };
        let advice = "make tiles of what is distributed to workgroups, and distribute the elements of a tile to threads";
        let better = |judged: &JudgedDispatch<'_>| device.estimate(judged.figures);
        self.note_planned(LintName::Idle, what, Advice::general(advice), now, &better);
    }
}
