//! Times the schedules of each kernel on a runner, within the limits that the user gives: a schedule that is much slower than another one
//! is dropped after its first launch, and the schedules of a kernel share a time.

use super::curve::{self, Curve};
use super::fit::{rank, rates};
use super::roofline::{DeviceRates, Roofline, roofline};
use super::{Job, Refusal, Row, Run};
use crate::exit::{Exit, Problem};
use crate::interrupt;
use crate::meets::lacks;
use crate::options::Bench;
use crate::output;
use crate::place::Reach;
use crate::reached::{LEAST, Reached, Trouble};
use crate::tune::median;
use crate::tune::report::time;
use crate::variant::Compiled;
use indicatif::ProgressBar;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use tilewright_dsl::profile::Profile;
use tilewright_runner::message::{Statistics, Timed};

/// The number of launches before those that count.
const WARM_UP: u32 = 5;

/// The time in nanoseconds for which launches keep a GPU busy before the first schedule of a group is timed.
const SETTLED: u64 = 1_000_000_000;
/// A first launch that takes less, in nanoseconds, is repeated before its schedule is dropped, because a driver may compile during it.
const COMPILATION: f64 = 1e9;

/// The time for each row of the table, if the user does not give it.
const ROW_WITHIN: Duration = Duration::from_secs(30);

/// The result of a job.
enum Outcome {
    /// The nanoseconds of each run.
    Measured(Vec<f64>),
    /// The nanoseconds of the first launch, which was much slower than another schedule.
    Dropped(f64),
    /// The reason why a schedule fails.
    Refused(String),
    /// The reason why a schedule is not for this device or these sizes.
    Unsupported(String),
    /// The reason for leaving a schedule out, because its kernel's time was over.
    OutOfTime(String),
}

/// The schedules of one kernel at the same sizes.
struct Contest {
    start: Instant,
    /// The median of the fastest one so far.
    best: Option<f64>,
    /// The number of those that have not been measured and may run on the device.
    left: u32,
}

struct Measure<'a> {
    options: &'a Bench,
    reached: Reached,
    curve: Option<Curve>,
    /// The profile whose rates of arithmetic hold for the device.
    rates: Option<Profile>,
    /// The time that the schedules of a kernel at the same sizes share.
    row_within: Option<Duration>,
    /// The operations in a nanosecond of schedules that were measured at other sizes, by the hash of their modules.
    speeds: HashMap<String, f64>,
    /// The driver's numbers of the schedule that was timed last.
    statistics: Vec<Statistics>,
}

/// Times all jobs on a runner. Returns the exit code of its failures, if it failed and could continue.
pub(super) fn timed(options: &Bench, runner: Option<&str>, jobs: &[Job], run: &mut Run) -> Result<Option<Exit>, Problem> {
    let reach = Reach { statistics: options.statistics, ..options.reach.clone() };
    let reached = Reached::open(runner, &reach)?;
    let rates = rates(jobs.iter().filter_map(|job| job.made_for.as_ref()), &reached.device);
    let row_within = options.row_within.or_else(|| options.is_table().then_some(ROW_WITHIN));
    let mut measure = Measure { options, reached, curve: None, rates, row_within, speeds: HashMap::new(), statistics: Vec::new() };
    let bar = crate::tune::bar();
    bar.set_length(jobs.len() as u64);
    bar.set_message("the time to move bytes");
    let result = if jobs.iter().any(|job| job.launch.is_ok()) { measure.copies() } else { Ok(()) };
    run.devices.push(measure.device());
    let result = result.and_then(|()| measure.all(jobs, &mut run.rows, &bar));
    bar.finish_and_clear();
    result.map(|()| measure.reached.failed)
}

impl Measure<'_> {
    /// Measures the curve. A device for which that fails has the rooflines of the profiles.
    fn copies(&mut self) -> Result<(), Problem> {
        match curve::measured(self.options, &mut self.reached) {
            Ok(curve) => self.curve = Some(curve),
            Err(Trouble::Over(problem)) => return Err(problem),
            Err(Trouble::Refused(why) | Trouble::Unsupported(why)) => output::message(format_args!(
                "note: the time to move bytes cannot be measured, so rooflines use the bandwidth of the profiles: {why}"
            )),
        }
        Ok(())
    }

    /// Returns the rates of the device.
    fn device(&self) -> DeviceRates {
        DeviceRates {
            runner: self.reached.name().to_owned(),
            device: self.reached.device.name.clone(),
            profile: self.rates.as_ref().map(|profile| profile.name.clone()),
            curve: self.curve.clone().unwrap_or_default(),
        }
    }

    /// Times all jobs. Adjacent jobs of one kernel are compared with each other.
    fn all(&mut self, jobs: &[Job], rows: &mut Vec<Row>, bar: &ProgressBar) -> Result<(), Problem> {
        for group in jobs.chunk_by(Job::is_beside) {
            let mut ordered: Vec<&Job> = group.iter().collect();
            ordered.sort_by_key(|job| rank(job.made_for.as_ref(), &self.reached.device));
            let left = ordered.iter().filter(|job| self.may_run(job)).count() as u32;
            let mut contest = Contest { start: Instant::now(), best: None, left };
            for job in ordered {
                if interrupt::is_set() {
                    return Err(interrupted());
                }
                bar.set_message(format!("{} {} at {}", job.kernel, job.schedule, job.sizes));
                let (outcome, over) = self.outcome(job, &contest)?;
                if let Outcome::Measured(times) = &outcome {
                    contest.best = median(times).map(|time| contest.best.map_or(time, |best| best.min(time))).or(contest.best);
                }
                contest.left = contest.left.saturating_sub(u32::from(self.may_run(job)));
                rows.push(self.row(job, outcome));
                bar.inc(1);
                if let Some(problem) = over {
                    return Err(problem);
                }
            }
        }
        Ok(())
    }

    /// True if the device meets a schedule's profile, as far as it is known.
    fn may_run(&self, job: &Job) -> bool {
        job.launch.is_ok() && job.made_for.as_ref().is_none_or(|profile| lacks(profile, &self.reached.device).is_empty())
    }

    /// Times a job. Returns its outcome, and the problem if the runner is given up.
    ///
    /// # Errors
    /// The user has interrupted the command.
    fn outcome(&mut self, job: &Job, contest: &Contest) -> Result<(Outcome, Option<Problem>), Problem> {
        let compiled = match &job.launch {
            Ok(compiled) => compiled,
            Err(Refusal { why, is_unsupported: true }) => return Ok((Outcome::Unsupported(why.clone()), None)),
            Err(Refusal { why, is_unsupported: false }) => return Ok((Outcome::Refused(why.clone()), None)),
        };
        let result = self.time(job, compiled, contest);
        self.statistics = Vec::new();
        if self.options.statistics && matches!(result, Ok(Outcome::Measured(_) | Outcome::Dropped(_))) {
            self.statistics = self.statistics_of(job, compiled);
        }
        self.reached.forget(compiled);
        let time = match &result {
            Ok(Outcome::Measured(times)) => median(times),
            Ok(Outcome::Dropped(time)) => Some(*time),
            _ => None,
        };
        self.speeds.extend(time.zip(job.operations).map(|(time, count)| (compiled.module.clone(), count / time.max(1.0))));
        Ok(match result {
            Ok(outcome) => (outcome, None),
            Err(Trouble::Unsupported(why)) => (Outcome::Unsupported(why), None),
            Err(_) if interrupt::has_ended_a_runner() => return Err(interrupted()),
            Err(Trouble::Refused(why)) => (Outcome::Refused(why), None),
            Err(Trouble::Over(problem)) => (Outcome::Refused(problem.text.clone()), Some(problem)),
        })
    }

    /// Returns the driver's numbers of a schedule's dispatches. A failure is only a note.
    fn statistics_of(&mut self, job: &Job, compiled: &Compiled) -> Vec<Statistics> {
        match self.reached.statistics(compiled, &job.sizes, self.options.seed) {
            Ok(statistics) => statistics,
            Err(Trouble::Refused(why) | Trouble::Unsupported(why) | Trouble::Over(Problem { text: why, .. })) => {
                output::message(format_args!("note: the driver's numbers of {} are missing: {why}", job.schedule));
                Vec::new()
            }
        }
    }

    /// Times a schedule. If it may be slow, one launch comes first.
    fn time(&mut self, job: &Job, compiled: &Compiled, contest: &Contest) -> Result<Outcome, Trouble> {
        let (runs, row_within) = (self.options.runs, self.row_within);
        let slowest = contest.best.map(|best| best * self.options.slower).filter(|slowest| *slowest > 0.0);
        let left = |limit: Duration| limit.saturating_sub(contest.start.elapsed());
        if let Some(limit) = row_within
            && let Some(why) = out_of_time(left(limit), limit, self.estimate(job, compiled))
        {
            return Ok(Outcome::OutOfTime(why));
        }
        if contest.best.is_none() {
            self.settle(job, compiled)?;
        }
        if slowest.is_none() && row_within.is_none() {
            return self.runs(job, compiled, WARM_UP, runs).map(Outcome::Measured);
        }
        let mut first = self.first(job, compiled)?;
        if slowest.is_some_and(|slowest| first > slowest) && first < COMPILATION {
            first = first.min(self.first(job, compiled)?);
        }
        if slowest.is_some_and(|slowest| first > slowest) {
            return Ok(Outcome::Dropped(first));
        }
        let share = |limit: Duration| left(limit) / contest.left.max(1);
        let (warm_up, runs) = row_within.map_or((WARM_UP, runs), |limit| fitting(share(limit), first, runs));
        if runs == 0 {
            return Ok(Outcome::Measured(vec![first]));
        }
        self.runs(job, compiled, warm_up, runs).map(Outcome::Measured)
    }

    /// Keeps a GPU busy with the launches, without measuring them. After a pause, its power limit changes the clock for about a second, so
    /// the first schedule of a group would seem up to 20 % slower than the others.
    fn settle(&mut self, job: &Job, compiled: &Compiled) -> Result<(), Trouble> {
        if self.reached.device.kind != "cpu" {
            self.reached.time(compiled, &job.sizes, Timed { warm_up: 0, runs: 1, least: SETTLED, ..self.timed() })?;
        }
        Ok(())
    }

    /// Estimates the nanoseconds of a launch, by the roofline and by the schedule's speed at other sizes.
    fn estimate(&self, job: &Job, compiled: &Compiled) -> f64 {
        let least = self.roofline(job).map_or(0.0, |roofline| roofline.nanoseconds);
        let speed = self.speeds.get(&compiled.module).zip(job.operations);
        speed.map_or(least, |(speed, operations)| least.max(operations / speed))
    }

    /// Times one launch without others before it. (A GPU that was idle is kept busy before.)
    fn first(&mut self, job: &Job, compiled: &Compiled) -> Result<f64, Trouble> {
        let timed = Timed { warm_up: 0, runs: 1, least: 0, sets: 1, ..self.timed() };
        Ok(self.reached.time(compiled, &job.sizes, timed)?.first().map_or(0.0, |ns| *ns as f64))
    }

    fn runs(&mut self, job: &Job, compiled: &Compiled, warm_up: u32, runs: u32) -> Result<Vec<f64>, Trouble> {
        let timed = Timed { warm_up, runs, ..self.timed() };
        let times = self.reached.time(compiled, &job.sizes, timed)?;
        Ok(times.into_iter().map(|ns| ns as f64).collect())
    }

    fn timed(&self) -> Timed {
        let Bench { runs, sets, seed, .. } = *self.options;
        Timed { warm_up: WARM_UP, runs, least: LEAST, sets, seed, clock: self.options.reach.clock() }
    }

    fn roofline(&self, job: &Job) -> Option<Roofline> {
        roofline(job, self.curve.as_ref(), self.rates.as_ref())
    }

    fn row(&self, job: &Job, outcome: Outcome) -> Row {
        let roofline = self.roofline(job);
        let [device, driver] = self.reached.clocked();
        let row = Row {
            work: job.work.map(str::to_owned),
            runner: self.reached.name().to_owned(),
            device,
            driver,
            kernel: job.kernel.clone(),
            schedule: job.schedule.clone(),
            profile: job.profile.clone(),
            sizes: job.sizes.to_string(),
            runs: self.options.runs,
            operations: job.operations,
            bytes: job.bytes,
            bound_ns: roofline.map(|roofline| roofline.nanoseconds),
            bound_by: roofline.map(|roofline| roofline.by),
            narrow_intermediates: job.launch.as_ref().is_ok_and(|compiled| compiled.has_narrow_intermediates()),
            ..Row::default()
        };
        match outcome {
            Outcome::Measured(times) => Row { statistics: self.statistics.clone(), ..row.with(&times) },
            Outcome::Dropped(time) => Row { dropped: true, statistics: self.statistics.clone(), ..row.with(&[time]) },
            Outcome::Refused(why) => Row { error: Some(why), ..row },
            Outcome::Unsupported(why) => Row { unsupported: true, error: Some(why), ..row },
            Outcome::OutOfTime(why) => Row { out_of_time: true, error: Some(why), ..row },
        }
    }
}

impl Row {
    /// Sets the times of the runs.
    fn with(self, times: &[f64]) -> Row {
        let median = median(times);
        let roofline = self.bound_ns.zip(median).map(|(least, median)| least / median.max(1.0));
        let least_ns = times.iter().copied().min_by(f64::total_cmp);
        Row { runs: times.len() as u32, median_ns: median, least_ns, roofline, ..self }
    }
}

/// Returns the reason for leaving a launch out, if it is estimated to take more nanoseconds than are left.
fn out_of_time(left: Duration, limit: Duration, estimate: f64) -> Option<String> {
    let (nanoseconds, limit) = (left.as_nanos() as f64, humantime::format_duration(limit));
    match left.is_zero() {
        true => Some(format!("out of time: other schedules have taken the {limit}")),
        false if estimate < nanoseconds => None,
        false => {
            let (least, left) = (time(estimate), time(nanoseconds));
            Some(format!("out of time: a launch takes about {least} or more, and {left} of {limit} are left"))
        }
    }
}

/// Returns the launches before those that count, and the runs that count, as far as there is time for them. `first` is the time of a launch
/// in nanoseconds.
fn fitting(left: Duration, first: f64, runs: u32) -> (u32, u32) {
    let count = (left.as_nanos() as f64 / first.max(1.0)) as u32;
    let warm_up = WARM_UP.min(count / 4);
    (warm_up, runs.min(count - warm_up))
}

fn interrupted() -> Problem {
    Problem { exit: Exit::Interrupted, text: "interrupted".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_takes_longer_than_the_time_that_is_left_is_not_begun() {
        let of = |millis, estimate| out_of_time(Duration::from_millis(millis), Duration::from_secs(30), estimate);
        assert_eq!(of(30, 29e6), None);
        let why = "out of time: a launch takes about 31.000 ms or more, and 30.000 ms of 30s are left";
        assert_eq!(of(30, 31e6).as_deref(), Some(why));
        assert_eq!(of(0, 0.0).as_deref(), Some("out of time: other schedules have taken the 30s"));
    }

    #[test]
    fn as_many_runs_as_there_is_time_for() {
        let of = |millis, first| fitting(Duration::from_millis(millis), first, 50);
        assert_eq!(of(30_000, 1e6), (5, 50));
        assert_eq!(of(30_000, 1e9), (5, 25));
        assert_eq!(of(5_000, 1e9), (1, 4));
        assert_eq!((of(1_500, 1e9), of(500, 1e9), of(0, 0.0)), ((0, 1), (0, 0), (0, 0)));
    }
}
