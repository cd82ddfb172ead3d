//! Times launches by the clock of the device or of the processor, one by one or many together.

use crate::arguments::Set;
use crate::message::{Clock, Failure, Timed};
use cpu_time::ProcessTime;
use std::ops::Range;
use std::time::Duration;
use tilewright::{Batch, DynKernel};

/// The most launches of a run.
const TOGETHER: u64 = 1024;

/// Launches of a kernel, which use several sets of arguments in turn.
pub(crate) struct Launches<'a> {
    pub(crate) kernel: &'a DynKernel,
    pub(crate) sets: Vec<Set>,
    /// The time for which the device has been busy with them, by its clock.
    pub(crate) busy: Duration,
}

/// The version that ran, and its times.
type Times<T> = Result<(String, Vec<T>), Failure>;

impl Launches<'_> {
    /// Returns the nanoseconds of a launch in each run that counts.
    pub(crate) fn times(&mut self, timed: &Timed) -> Times<u64> {
        let (warm_up, all) = (timed.warm_up as usize, timed.warm_up as usize + timed.runs as usize);
        let (variant, times) = match timed.clock {
            Clock::Processor => self.by_processor(warm_up..all)?,
            Clock::Device => self.by_device(timed, warm_up..all)?,
        };
        Ok((variant, times.iter().map(|t| u64::try_from(t.as_nanos()).unwrap_or(u64::MAX)).collect()))
    }

    /// Times runs by the device's clock. The launches before the first run that counts give the number of launches in a run.
    fn by_device(&mut self, timed: &Timed, runs: Range<usize>) -> Times<Duration> {
        if timed.least == 0 {
            let (variant, mut times) = self.each(0..runs.end)?;
            return Ok((variant, times.split_off(runs.start.min(times.len()))));
        }
        let (variant, before) = self.each(0..runs.start.max(1))?;
        let one = before.iter().min().map_or(0, Duration::as_nanos).max(1);
        let count = u64::try_from(u128::from(timed.least).div_ceil(one)).map_or(TOGETHER, |n| n.clamp(1, TOGETHER)) as usize;
        if count == 1 {
            return Ok((variant, self.each(runs)?.1));
        }
        let times = runs.map(|run| Ok(self.together(run * count..(run + 1) * count)? / count as u32));
        Ok((variant, times.collect::<Result<_, Failure>>()?))
    }

    /// Runs launches in one submission, and times each by the device's timestamps.
    fn each(&mut self, launches: Range<usize>) -> Times<Duration> {
        let times = self.batch(launches)?.submit_timed()?;
        self.busy += times.iter().map(|t| t.total).sum::<Duration>();
        let variant = times.first().map(|t| t.variant.clone()).unwrap_or_default();
        Ok((variant, times.into_iter().map(|t| t.total).collect()))
    }

    /// Returns the name of each dispatch, and the median of its nanoseconds in several launches. Dispatches do not overlap.
    pub(crate) fn dispatches(&mut self, launches: usize) -> Result<Vec<(String, u64)>, Failure> {
        let all = self.batch(0..launches)?.submit_timed()?;
        self.busy += all.iter().map(|launch| launch.total).sum::<Duration>();
        let Some(first) = all.first() else { return Ok(Vec::new()) };
        let of = |(n, (name, _)): (usize, &(String, Duration))| {
            let mut times: Vec<Duration> = all.iter().filter_map(|launch| Some(launch.dispatches.get(n)?.1)).collect();
            times.sort_unstable();
            (name.clone(), times.get(times.len() / 2).map_or(0, |time| time.as_nanos() as u64))
        };
        Ok(first.dispatches.iter().enumerate().map(of).collect())
    }

    /// Runs launches in one submission, and times them from the beginning of the first to the end of the last.
    fn together(&mut self, launches: Range<usize>) -> Result<Duration, Failure> {
        let time = self.batch(launches)?.submit_timed_together()?;
        self.busy += time;
        Ok(time)
    }

    /// Times each launch by the processor's clock, including the host's part of it.
    fn by_processor(&mut self, runs: Range<usize>) -> Times<Duration> {
        let (mut variant, mut times) = (String::new(), Vec::new());
        for launch in 0..runs.end {
            let start = ProcessTime::now();
            variant = self.each(launch..launch + 1)?.0;
            if runs.contains(&launch) {
                times.push(start.elapsed());
            }
        }
        Ok((variant, times))
    }

    fn batch(&mut self, launches: Range<usize>) -> Result<Batch, Failure> {
        let mut batch = self.kernel.device().batch();
        for n in launches {
            let count = self.sets.len();
            let (arguments, outputs) = self.sets[n % count].both();
            batch.run_dyn_into(self.kernel, arguments, outputs)?;
        }
        Ok(batch)
    }
}
