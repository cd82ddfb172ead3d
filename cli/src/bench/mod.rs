//! `tilewright bench`: times the schedules of a file, or the ready kernels, by the device's clock.

mod against;
mod list;
mod report;
mod svg;

use crate::exit::{Exit, Problem};
use crate::options::Bench;
use crate::output;
use crate::place::runners;
use crate::reached::{LEAST, Reached, Trouble};
use crate::sizes::Sizes;
use crate::tune::median;
use crate::variant::Compiled;
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use tilewright_runner::message::Timed;

/// The number of launches before those that count.
const WARM_UP: u32 = 5;

/// The version of the output of `--json`.
const VERSION: u32 = 1;

/// A schedule to time.
pub(super) struct Job {
    pub(super) kernel: String,
    pub(super) schedule: String,
    pub(super) profile: String,
    pub(super) sizes: Sizes,
    /// The compiled schedule, or the reason why it is not launched.
    pub(super) launch: Result<Rc<Compiled>, Refusal>,
    /// The arithmetic operations of a launch.
    pub(super) operations: Option<f64>,
    /// The bytes of inputs and outputs of a launch.
    pub(super) bytes: Option<f64>,
    /// The least nanoseconds by the profile's rates.
    pub(super) least: Option<f64>,
}

/// The reason why a schedule is not launched.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub(super) why: String,
    /// True if the schedule is for other sizes.
    pub(super) is_unsupported: bool,
}

/// The output of a run, which later runs are compared with.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Run {
    version: u32,
    rows: Vec<Row>,
}

/// A schedule at some sizes on a device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row {
    runner: String,
    device: String,
    driver: String,
    kernel: String,
    schedule: String,
    profile: String,
    sizes: String,
    runs: u32,
    median_ns: Option<f64>,
    least_ns: Option<f64>,
    operations: Option<f64>,
    bytes: Option<f64>,
    /// The least time by the profile's rates, over the median.
    roofline: Option<f64>,
    /// The median of the run that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_ns: Option<f64>,
    /// True if it was not measured because it is compiled for another device, or for other sizes.
    #[serde(default)]
    unsupported: bool,
    /// The reason why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(options: &Bench) -> Result<Exit, Problem> {
    if options.list {
        return list::shown(options).map(|()| Exit::Done);
    }
    let before = options.against.as_deref().map(against::read).transpose()?;
    let jobs = list::jobs(options)?;
    let (mut rows, mut failed) = (Vec::new(), None);
    for runner in runners(&options.runner) {
        // The failure of one runner does not affect the results of another.
        match timed(options, runner, &jobs, &mut rows) {
            Ok(exit) => failed = exit.or(failed),
            Err(problem) => {
                problem.report(false);
                failed = Some(problem.exit);
            }
        }
    }
    if let Some(before) = &before {
        against::compare(&mut rows, before);
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, svg::chart(&rows)).map_err(|e| Problem::usage(format!("cannot write {}: {e}", path.display())))?;
    }
    // Schedules for other devices and sizes do not count as failures, unless there are no other schedules.
    let all = rows.iter().all(|row| row.error.is_none() || row.unsupported) && rows.iter().any(|row| row.error.is_none());
    let missing = report::missing(&rows);
    match options.json {
        true => output::json(&Run { version: VERSION, rows }),
        false => output::text(report::shown(&rows, before.is_some())),
    }
    if let Some(missing) = missing {
        Problem::no(missing).report(false);
    }
    Ok(failed.unwrap_or(if all { Exit::Done } else { Exit::No }))
}

/// Times all jobs on a runner. Returns the exit code of its failures, if it failed and could continue.
fn timed(options: &Bench, runner: Option<&str>, jobs: &[Job], rows: &mut Vec<Row>) -> Result<Option<Exit>, Problem> {
    let mut reached = Reached::open(runner, &options.reach)?;
    let bar = crate::tune::bar();
    bar.set_length(jobs.len() as u64);
    for job in jobs {
        bar.set_message(format!("{} {} at {}", job.kernel, job.schedule, job.sizes));
        let compiled = match &job.launch {
            Ok(compiled) => compiled,
            Err(Refusal { why, is_unsupported }) => {
                rows.push(Row { unsupported: *is_unsupported, ..row(job, &reached, options.runs, Err(why.clone())) });
                bar.inc(1);
                continue;
            }
        };
        let Bench { runs, sets, seed, .. } = *options;
        let timed = Timed { warm_up: WARM_UP, runs, least: LEAST, sets, seed, clock: options.reach.clock() };
        let times = reached.time(compiled, &job.sizes, timed);
        reached.forget(compiled);
        bar.inc(1);
        match times {
            Ok(times) => rows.push(row(job, &reached, options.runs, Ok(&times))),
            Err(Trouble::Refused(why)) => rows.push(row(job, &reached, options.runs, Err(why))),
            Err(Trouble::Unsupported(why)) => {
                rows.push(Row { unsupported: true, ..row(job, &reached, options.runs, Err(why)) });
            }
            Err(Trouble::Over(problem)) => {
                rows.push(row(job, &reached, options.runs, Err(problem.text.clone())));
                bar.finish_and_clear();
                return Err(problem);
            }
        }
    }
    bar.finish_and_clear();
    Ok(reached.failed)
}

fn row(job: &Job, reached: &Reached, runs: u32, times: Result<&[u64], String>) -> Row {
    let nanoseconds: Vec<f64> = times.as_ref().map_or_else(|_| Vec::new(), |times| times.iter().map(|ns| *ns as f64).collect());
    let median = median(&nanoseconds);
    let [device, driver] = reached.clocked();
    Row {
        runner: reached.name().to_owned(),
        device,
        driver,
        kernel: job.kernel.clone(),
        schedule: job.schedule.clone(),
        profile: job.profile.clone(),
        sizes: job.sizes.to_string(),
        runs,
        median_ns: median,
        least_ns: nanoseconds.iter().copied().min_by(f64::total_cmp),
        operations: job.operations,
        bytes: job.bytes,
        roofline: job.least.zip(median).map(|(least, median)| least / median.max(1.0)),
        before_ns: None,
        unsupported: false,
        error: times.err(),
    }
}
