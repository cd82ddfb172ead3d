//! `tilewright bench`: times the schedules of a file, the ready kernels, or the table of kernels and sizes, by the device's clock.
//!
//! ```text
//! list: jobs ─▶ measure: curve, order ─▶ rows ─▶ against, anchors ─▶ report, table, svg
//! ```

mod against;
mod anchors;
mod curve;
mod fit;
mod list;
mod measure;
mod report;
mod roofline;
mod svg;
mod table;

use crate::cost::DispatchWork;
use crate::exit::{Exit, Problem};
use crate::interrupt;
use crate::options::Bench;
use crate::output;
use crate::place::runners;
use crate::sizes::Sizes;
use crate::variant::Compiled;
use anchors::Anchors;
use roofline::{DeviceRates, LimitedBy};
use serde::{Deserialize, Serialize};
use std::rc::Rc;
use table::Line;
use tilewright_dsl::profile::Profile;
use tilewright_runner::message::Statistics;

/// The version of the output of `--json`.
const VERSION: u32 = 1;

/// A schedule to time.
pub(super) struct Job {
    /// The row of the table that it belongs to.
    pub(super) work: Option<&'static str>,
    pub(super) kernel: String,
    pub(super) schedule: String,
    pub(super) profile: String,
    /// The profile of that name, if it is known.
    pub(super) made_for: Option<Profile>,
    pub(super) sizes: Sizes,
    /// The compiled schedule, or the reason why it is not launched.
    pub(super) launch: Result<Rc<Compiled>, Refusal>,
    /// The arithmetic operations of a launch.
    pub(super) operations: Option<f64>,
    /// The bytes of inputs and outputs of a launch.
    pub(super) bytes: Option<f64>,
    /// The work that bounds the time of a launch. Empty if it is unknown.
    pub(super) dispatches: Vec<DispatchWork>,
}

impl Job {
    /// True if two jobs are schedules of one kernel at the same sizes, which are compared with each other.
    fn is_beside(&self, other: &Job) -> bool {
        (self.work, &self.kernel, &self.sizes) == (other.work, &other.kernel, &other.sizes)
    }
}

/// The reason why a schedule is not launched.
#[derive(Debug, Default)]
pub(super) struct Refusal {
    pub(super) why: String,
    /// True if the schedule is for other sizes.
    pub(super) is_unsupported: bool,
}

/// The output of a run, which later runs are compared with.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Run {
    version: u32,
    /// True if the run was interrupted, so that rows are missing.
    #[serde(default)]
    interrupted: bool,
    /// The rates of the devices.
    #[serde(default)]
    devices: Vec<DeviceRates>,
    rows: Vec<Row>,
    /// The best schedule of each row of the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    table: Vec<Line>,
}

/// A schedule at some sizes on a device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Row {
    /// The row of the table that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<String>,
    runner: String,
    device: String,
    driver: String,
    kernel: String,
    schedule: String,
    profile: String,
    sizes: String,
    /// The runs that count.
    runs: u32,
    median_ns: Option<f64>,
    least_ns: Option<f64>,
    operations: Option<f64>,
    bytes: Option<f64>,
    /// The least time that arithmetic and memory allow.
    #[serde(default)]
    bound_ns: Option<f64>,
    /// The resource that determines the least time.
    #[serde(default)]
    bound_by: Option<LimitedBy>,
    /// The least time over the median.
    roofline: Option<f64>,
    /// The median of the run that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_ns: Option<f64>,
    /// True if it was dropped after its first launch, because that was much slower than another schedule.
    #[serde(default)]
    dropped: bool,
    /// True if it stores intermediate results with fewer bits than the kernel's inputs and outputs.
    #[serde(default)]
    narrow_intermediates: bool,
    /// True if it was not measured because it is compiled for another device, or for other sizes.
    #[serde(default)]
    unsupported: bool,
    /// True if it was not measured because the time for its kernel and sizes was over.
    #[serde(default)]
    out_of_time: bool,
    /// The driver's numbers of its dispatches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    statistics: Vec<Statistics>,
    /// The reason why it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Row {
    /// True if the schedule has not failed: it was measured, or it is for another device, or its time was over.
    fn is_right(&self) -> bool {
        self.error.is_none() || self.unsupported || self.out_of_time
    }
}

pub(crate) fn run(options: &Bench) -> Result<Exit, Problem> {
    if options.list {
        return list::shown(options).map(|()| Exit::Done);
    }
    let before = options.against.as_deref().map(against::read).transpose()?;
    let anchors = options.torch.as_deref().map(anchors::read).transpose()?;
    let jobs = list::jobs(options)?;
    interrupt::watch()?;
    let mut run = Run { version: VERSION, ..Run::default() };
    let mut failed = None;
    for runner in runners(&options.runner) {
        // The failure of one runner does not affect the results of another.
        match measure::timed(options, runner, &jobs, &mut run) {
            Ok(exit) => failed = exit.or(failed),
            Err(problem) if problem.exit == Exit::Interrupted || interrupt::has_ended_a_runner() => break,
            Err(problem) => {
                problem.report(false);
                failed = Some(problem.exit);
            }
        }
    }
    run.interrupted = interrupt::is_set();
    if let Some(before) = &before {
        against::compare(&mut run.rows, before);
    }
    finish(options, run, before.is_some(), anchors.as_ref(), failed)
}

/// Prints a run, and returns the exit code. `compared` is true if it was compared with another run.
fn finish(options: &Bench, mut run: Run, compared: bool, anchors: Option<&Anchors>, failed: Option<Exit>) -> Result<Exit, Problem> {
    if let Some(path) = &options.svg {
        std::fs::write(path, svg::chart(&run.rows)).map_err(|e| Problem::usage(format!("cannot write {}: {e}", path.display())))?;
    }
    if options.is_table() {
        run.table = table::lines(&run.rows, anchors);
    }
    match options.json {
        true => output::json(&run),
        false if options.is_table() => output::text(table::shown(options, &run)),
        false => output::text(report::shown(&run, compared)),
    }
    if run.interrupted {
        return Ok(Exit::Interrupted);
    }
    if let Some(missing) = report::missing(&run.rows) {
        Problem::no(missing).report(false);
    }
    // Schedules for other devices and sizes do not count as failures, unless all schedules are.
    let all = run.rows.iter().all(Row::is_right) && run.rows.iter().any(|row| row.error.is_none());
    Ok(failed.unwrap_or(if all { Exit::Done } else { Exit::No }))
}
