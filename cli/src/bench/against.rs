//! Compares a run with a saved one.

use super::{Row, Run, VERSION};
use crate::exit::Problem;
use std::path::Path;

/// Reads a saved run.
pub(super) fn read(path: &Path) -> Result<Vec<Row>, Problem> {
    let fails = |why: String| Problem::usage(format!("{} is not the output of `tilewright bench --json`: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| Problem::usage(format!("cannot read {}: {e}", path.display())))?;
    let run: Run = serde_json::from_str(&text).map_err(|e| fails(e.to_string()))?;
    if run.version == VERSION { Ok(run.rows) } else { Err(fails(format!("it is of version {}", run.version))) }
}

/// Sets the earlier time of each row: the same schedule at the same sizes on a device with the same name.
pub(super) fn compare(rows: &mut [Row], before: &[Row]) {
    let key = |row: &Row| (row.device.clone(), row.kernel.clone(), row.schedule.clone(), row.sizes.clone());
    for row in rows {
        row.before_ns = before.iter().find(|old| key(old) == key(row)).and_then(|old| old.median_ns);
    }
}
