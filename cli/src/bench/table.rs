//! The table: the best schedule of each row, beside the schedule for any device and the times of other libraries.

use super::anchors::Anchors;
use super::report::{self, heading, rate};
use super::roofline::LimitedBy;
use super::{Row, Run};
use crate::options::Bench;
use crate::output;
use crate::tune::report::time;
use serde::{Deserialize, Serialize};

/// The profile of schedules for any device.
const ANY_DEVICE: &str = "vulkan_1_1";

/// A row of the table on a device.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Line {
    work: String,
    runner: String,
    device: String,
    kernel: String,
    sizes: String,
    /// The fastest schedule. Schedules with narrow intermediates do not count, because other libraries do not round so.
    schedule: Option<String>,
    profile: Option<String>,
    /// The runs that count.
    runs: u32,
    median_ns: Option<f64>,
    operations: Option<f64>,
    bytes: Option<f64>,
    roofline: Option<f64>,
    bound_by: Option<LimitedBy>,
    /// The time of the fastest schedule for any device.
    any_device_ns: Option<f64>,
    /// The time of the fastest kernel of another library.
    torch_ns: Option<f64>,
    /// The name of that kernel.
    torch_variant: Option<String>,
    /// The time of that kernel over the time of the fastest schedule.
    torch_ratio: Option<f64>,
    /// The reason why no schedule was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Returns the lines of a run.
pub(super) fn lines(rows: &[Row], anchors: Option<&Anchors>) -> Vec<Line> {
    report::groups(rows).into_iter().filter_map(|group| line(&group, anchors)).collect()
}

fn line(group: &[&Row], anchors: Option<&Anchors>) -> Option<Line> {
    let first = group.first()?;
    let work = first.work.clone()?;
    let fastest = |wanted: &dyn Fn(&Row) -> bool| {
        let measured = group.iter().filter_map(|row| Some((*row, row.median_ns?))).filter(|(row, _)| wanted(row));
        measured.min_by(|(_, a), (_, b)| a.total_cmp(b))
    };
    let best = fastest(&|row| !row.dropped && !row.narrow_intermediates);
    let (row, median_ns) = (best.map(|(row, _)| row), best.map(|(_, ns)| ns));
    let anchor = anchors.and_then(|anchors| anchors.fastest(&work));
    Some(Line {
        runner: first.runner.clone(),
        device: first.device.clone(),
        kernel: first.kernel.clone(),
        sizes: first.sizes.clone(),
        schedule: row.map(|row| row.schedule.clone()),
        profile: row.map(|row| row.profile.clone()),
        runs: row.map_or(0, |row| row.runs),
        median_ns,
        operations: row.and_then(|row| row.operations),
        bytes: row.and_then(|row| row.bytes),
        roofline: row.and_then(|row| row.roofline),
        bound_by: row.and_then(|row| row.bound_by),
        any_device_ns: fastest(&|row| row.profile == ANY_DEVICE).map(|(_, ns)| ns),
        torch_ns: anchor.map(|anchor| anchor.nanoseconds),
        torch_variant: anchor.map(|anchor| anchor.variant.clone()),
        torch_ratio: anchor.zip(median_ns).map(|(anchor, median)| anchor.nanoseconds / median.max(1.0)),
        error: if best.is_none() { Some(why_not(group)) } else { None },
        work,
    })
}

/// Explains why all schedules of a row were left out. A failure comes first, then a schedule that had no time, then the devices and sizes
/// that the schedules are for.
fn why_not(group: &[&Row]) -> String {
    let failed = group.iter().find(|row| !row.is_right());
    let late = || group.iter().find(|row| row.out_of_time);
    match failed.or_else(late).and_then(|row| Some((row, row.error.as_ref()?))) {
        Some((row, why)) => format!("{}: {why}", row.schedule),
        None => "no schedule is for this device and these sizes".to_owned(),
    }
}

/// Returns the text for people: a table for each device.
pub(super) fn shown(options: &Bench, run: &Run) -> String {
    let mut text = String::new();
    for lines in run.table.chunk_by(|a, b| (&a.runner, &a.device) == (&b.runner, &b.device)) {
        let Some(first) = lines.first() else { continue };
        let Some(row) = run.rows.iter().find(|row| (&row.runner, &row.device) == (&first.runner, &first.device)) else { continue };
        let has_torch = lines.iter().any(|line| line.torch_ns.is_some());
        let mut heads = vec!["row", "schedule", "time", "GFLOP/s", "GB/s", "roofline", "any device"];
        if has_torch {
            heads.extend(["torch", "torch / ours"]);
        }
        let measured = lines.iter().filter(|line| line.median_ns.is_some());
        let cells = measured.map(|line| cells(line, has_torch)).collect();
        text += &format!("{}\n", heading(run, row));
        text += &match options.markdown {
            true => output::markdown(&heads, cells),
            false => output::table(&heads, cells, &[2, 3, 4, 5, 6, 7, 8]),
        };
        text += if options.markdown { "\n" } else { "" };
        for line in lines.iter().filter(|line| line.median_ns.is_none()) {
            let bullet = if options.markdown { "- " } else { " " };
            text +=
                &format!("{bullet}{} is {}: {}\n", line.work, report::not_measured(), line.error.as_deref().unwrap_or_default());
        }
        text += "\n";
    }
    text
}

fn cells(line: &Line, has_torch: bool) -> Vec<String> {
    let none = || "-".to_owned();
    let ns = line.median_ns.unwrap_or(f64::NAN);
    let name = format!("{} ({})", line.schedule.as_deref().unwrap_or("-"), line.profile.as_deref().unwrap_or("-"));
    let any = |any: f64| format!("{} ({:.1} x)", time(any), any / ns.max(1.0));
    let mut cells = vec![
        line.work.clone(),
        name,
        time(ns),
        rate(line.operations, ns),
        rate(line.bytes, ns),
        report::share(line.roofline, line.bound_by),
        line.any_device_ns.map_or_else(none, any),
    ];
    if has_torch {
        let variant = line.torch_variant.as_deref().unwrap_or_default();
        cells.push(line.torch_ns.map_or_else(none, |ns| format!("{} {variant}", time(ns))));
        cells.push(
            line.torch_ratio.map_or_else(none, |ratio| if ratio < 0.1 { format!("{ratio:.4}") } else { format!("{ratio:.2}") }),
        );
    }
    cells
}
