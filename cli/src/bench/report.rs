//! The table of a run.

use super::curve::Point;
use super::roofline::LimitedBy;
use super::{Row, Run};
use crate::bars::bar;
use crate::output;
use crate::tune::report::time;
use anstyle::AnsiColor::Yellow;
use tilewright_runner::message::Statistics;

/// Returns the groups of rows that are compared by their bars: a kernel at the same sizes on a device.
pub(super) fn groups(rows: &[Row]) -> Vec<Vec<&Row>> {
    let mut groups: Vec<Vec<&Row>> = Vec::new();
    let key = |row: &Row| (row.runner.clone(), row.device.clone(), row.kernel.clone(), row.sizes.clone());
    for row in rows {
        match groups.last_mut().filter(|group| group.first().is_some_and(|first| key(first) == key(row))) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

/// Returns the median of the slowest row of a group.
pub(super) fn slowest(group: &[&Row]) -> f64 {
    group.iter().filter_map(|row| row.median_ns).fold(1.0, f64::max)
}

/// Returns the lines about a row's device: its name, and the meaning of the roofline.
pub(super) fn heading(run: &Run, row: &Row) -> String {
    let mut text = format!("{} ({}), runner {}\n", output::heading(&row.device), row.driver, row.runner);
    let Some(rates) = run.devices.iter().find(|rates| (&rates.runner, &rates.device) == (&row.runner, &row.device)) else {
        return text;
    };
    let profile = rates.profile.as_ref().map_or("each schedule's profile".to_owned(), |name| format!("`{name}`"));
    let point = |point: &Point| format!("{} at {} GB/s", size(point.bytes), figures(point.bytes / point.nanoseconds));
    let points: Vec<String> = rates.curve.0.iter().map(point).collect();
    text += &match points.is_empty() {
        true => format!("roofline: arithmetic and memory by the rates of {profile}\n"),
        false => {
            format!("roofline: arithmetic by the rates of {profile}, memory by a vector sum that moves {}\n", points.join(", "))
        }
    };
    text
}

/// Returns a rate, with more digits if it is small.
fn figures(rate: f64) -> String {
    match rate {
        rate if rate < 1.0 => format!("{rate:.3}"),
        rate if rate < 100.0 => format!("{rate:.1}"),
        rate => format!("{rate:.0}"),
    }
}

/// Returns a number of bytes with its unit.
fn size(bytes: f64) -> String {
    match bytes {
        bytes if bytes < 1e3 => format!("{bytes:.0} B"),
        bytes if bytes < 1e6 => format!("{:.0} kB", bytes / 1e3),
        bytes => format!("{:.0} MB", bytes / 1e6),
    }
}

/// Returns the share of the roofline, with the resource that limits the time.
pub(super) fn share(share: Option<f64>, by: Option<LimitedBy>) -> String {
    let by = by.map_or("", LimitedBy::word);
    share.map_or("-".to_owned(), |share| format!("{:.0} % {by}", share * 100.0).trim_end().to_owned())
}

/// Returns billions per second, or bytes and operations per nanosecond.
pub(super) fn rate(count: Option<f64>, nanoseconds: f64) -> String {
    count.map_or("-".to_owned(), |count| format!("{:.1}", count / nanoseconds.max(1.0)))
}

pub(super) fn not_measured() -> String {
    output::coloured(Yellow, "not measured")
}

/// Returns the text for people: a table for each kernel at the same sizes on a device.
pub(super) fn shown(run: &Run, compared: bool) -> String {
    let (mut text, mut device) = (String::new(), None);
    for group in groups(&run.rows) {
        let Some(first) = group.first() else { continue };
        if device != Some((&first.runner, &first.device)) {
            device = Some((&first.runner, &first.device));
            text += &heading(run, first);
        }
        text += &format!("\n{}\n", title(first, &group));
        let mut heads = vec!["schedule", "profile", "time", "", "GFLOP/s", "GB/s", "roofline"];
        if compared {
            heads.extend(["before", "change"]);
        }
        let slowest = slowest(&group);
        let runs = most_runs(&group);
        let measured = group.iter().filter(|row| row.error.is_none());
        let mut cells: Vec<Vec<String>> = measured.clone().map(|row| cells(row, slowest, compared)).collect();
        let notes: Vec<String> = measured.map(|row| note(row, runs)).collect();
        if notes.iter().any(|note| !note.is_empty()) {
            heads.push("");
            cells.iter_mut().zip(notes).for_each(|(cells, note)| cells.push(note));
        }
        if !cells.is_empty() {
            let right = if compared { &[2, 4, 5, 6, 7, 8][..] } else { &[2, 4, 5, 6] };
            text += &output::table(&heads, cells, right);
        }
        for row in &group {
            text += &statistics(row);
        }
        for row in group.iter().filter(|row| row.error.is_some()) {
            let why = row.error.as_deref().unwrap_or_default();
            text += &format!(" {} is {}: {why}\n", row.schedule, not_measured());
        }
    }
    text
}

/// Returns a line for each dispatch of a row, with the driver's numbers.
pub(super) fn statistics(row: &Row) -> String {
    let line = |of: &Statistics| {
        let values: Vec<String> = of.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        format!(" {}, {}: {}\n", row.schedule, of.dispatch, values.join(", "))
    };
    row.statistics.iter().map(line).collect()
}

/// Returns the title of a table.
fn title(first: &Row, group: &[&Row]) -> String {
    let kernel = if first.kernel.is_empty() { "of an unknown kernel" } else { first.kernel.as_str() };
    let sizes = if first.sizes.is_empty() { String::new() } else { format!(" at {}", first.sizes) };
    let is_measured = group.iter().any(|row| row.error.is_none());
    let runs = if is_measured { format!(", median of {}", most_runs(group)) } else { String::new() };
    format!("{}{sizes}{runs}", output::heading(kernel))
}

/// Returns the most runs of the rows that were measured.
fn most_runs(group: &[&Row]) -> u32 {
    group.iter().filter(|row| row.error.is_none()).map(|row| row.runs).max().unwrap_or_default()
}

/// Returns a note on a row that has fewer runs than others.
fn note(row: &Row, runs: u32) -> String {
    match row.runs {
        _ if row.dropped => "dropped after a launch".to_owned(),
        fewer if fewer < runs => format!("median of {fewer}"),
        _ => String::new(),
    }
}

/// Returns the schedules that were not measured, although they are for this device and these sizes.
pub(super) fn missing(rows: &[Row]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| !row.is_right()) {
        let sizes = if row.sizes.is_empty() { String::new() } else { format!(" at {}", row.sizes) };
        let name = format!("`{}`{sizes}", row.schedule);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| format!("not measured: {}", names.join(", ")))
}

fn cells(row: &Row, slowest: f64, compared: bool) -> Vec<String> {
    let ns = row.median_ns.unwrap_or(f64::NAN);
    let mut cells = vec![
        row.schedule.clone(),
        row.profile.clone(),
        time(ns),
        bar(ns / slowest),
        rate(row.operations, ns),
        rate(row.bytes, ns),
        share(row.roofline, row.bound_by),
    ];
    if compared {
        cells.push(row.before_ns.map_or("-".to_owned(), time));
        cells.push(row.before_ns.map_or("-".to_owned(), |before| format!("{:+.1} %", (ns / before.max(1.0) - 1.0) * 100.0)));
    }
    cells
}
