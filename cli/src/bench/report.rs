//! The table of a run.

use super::Row;
use crate::bars::bar;
use crate::output;
use crate::tune::report::time;
use anstyle::AnsiColor::Yellow;

/// Rows that are compared by their bars: a kernel at some sizes on a device.
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

/// The slowest of a group.
pub(super) fn slowest(group: &[&Row]) -> f64 {
    group.iter().filter_map(|row| row.median_ns).fold(1.0, f64::max)
}

/// For people: a table for each kernel at some sizes on a device.
pub(super) fn shown(rows: &[Row], compared: bool) -> String {
    let (mut text, mut device) = (String::new(), None);
    for group in groups(rows) {
        let Some(first) = group.first() else { continue };
        if device != Some((&first.runner, &first.device)) {
            device = Some((&first.runner, &first.device));
            text += &format!("{} ({}), runner {}\n", output::heading(&first.device), first.driver, first.runner);
        }
        text += &format!("\n{} at {}, median of {}\n", output::heading(&first.kernel), first.sizes, first.runs);
        let mut heads = vec!["schedule", "profile", "time", "", "GFLOP/s", "GB/s", "roofline"];
        if compared {
            heads.extend(["before", "change"]);
        }
        let slowest = slowest(&group);
        let measured = group.iter().filter(|row| row.error.is_none());
        text += &output::table(&heads, measured.map(|row| cells(row, slowest, compared)).collect(), &[2, 4, 5, 6, 7, 8]);
        for row in group.iter().filter(|row| row.error.is_some()) {
            let why = row.error.as_deref().unwrap_or_default();
            text += &format!(" {} is {}: {why}\n", row.schedule, output::coloured(Yellow, "not measured"));
        }
    }
    text
}

fn cells(row: &Row, slowest: f64, compared: bool) -> Vec<String> {
    let ns = row.median_ns.unwrap_or(f64::NAN);
    let rate = |count: Option<f64>| count.map_or("-".to_owned(), |count| format!("{:.1}", count / ns.max(1.0)));
    let mut cells = vec![
        row.schedule.clone(),
        row.profile.clone(),
        time(ns),
        bar(ns / slowest),
        rate(row.operations),
        rate(row.bytes),
        row.roofline.map_or("-".to_owned(), |share| format!("{:.0} %", share * 100.0)),
    ];
    if compared {
        cells.push(row.before_ns.map_or("-".to_owned(), time));
        cells.push(row.before_ns.map_or("-".to_owned(), |before| format!("{:+.1} %", (ns / before.max(1.0) - 1.0) * 100.0)));
    }
    cells
}
