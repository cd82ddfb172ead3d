//! Times of other libraries for the rows of the table: JSON lines that `scripts/anchors.py` prints.

use crate::exit::Problem;
use crate::output;
use serde::Deserialize;
use std::path::Path;
use tilewright_dsl::diag::list;
use tilewright_schedules::table::ROWS;

/// The times of a file.
#[derive(Debug)]
pub(super) struct Anchors(Vec<Anchor>);

/// The time of another library's kernel.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Anchor {
    /// The name of the table's row.
    work: String,
    /// The name of the library's kernel.
    pub(super) variant: String,
    pub(super) nanoseconds: f64,
}

/// A line of the file. Other fields are ignored.
#[derive(Deserialize)]
struct AnchorLine {
    work: String,
    variant: String,
    ms: Option<f64>,
    /// The failure, if it was not timed.
    error: Option<String>,
}

impl Anchors {
    /// Returns the fastest time for a row of the table.
    pub(super) fn fastest(&self, work: &str) -> Option<&Anchor> {
        let of_row = self.0.iter().filter(|anchor| anchor.work == work);
        of_row.min_by(|a, b| a.nanoseconds.total_cmp(&b.nanoseconds))
    }
}

/// Reads a file. Rows that are not in the table are ignored, with a note.
pub(super) fn read(path: &Path) -> Result<Anchors, Problem> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|e| Problem::usage(format!("cannot read {shown}: {e}")))?;
    let (mut anchors, mut unknown): (Vec<Anchor>, Vec<String>) = (Vec::new(), Vec::new());
    for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let Some(anchor) = anchor(line).map_err(|why| {
            let example = r#"{"work": "matmul 512", "variant": "cuBLAS", "ms": 0.0128}"#;
            Problem::usage(format!("{shown}:{}: this is not a time of scripts/anchors.py, such as {example}: {why}", n + 1))
        })?
        else {
            continue;
        };
        match ROWS.iter().any(|row| row.name == anchor.work) {
            true => anchors.push(anchor),
            false if unknown.contains(&anchor.work) => {}
            false => unknown.push(anchor.work),
        }
    }
    if !unknown.is_empty() {
        output::message(format_args!("note: the table has no rows of these names, which {shown} has: {}", list(unknown)));
    }
    Ok(Anchors(anchors))
}

/// Reads a line. Returns `None` for a kernel that has failed.
fn anchor(line: &str) -> Result<Option<Anchor>, String> {
    let AnchorLine { work, variant, ms, error } = serde_json::from_str(line).map_err(|e| e.to_string())?;
    match ms {
        Some(ms) if ms.is_finite() && ms > 0.0 => Ok(Some(Anchor { work, variant, nanoseconds: ms * 1e6 })),
        Some(ms) => Err(format!("`ms` is {ms}, which is not above 0")),
        None if error.is_some() => Ok(None),
        None => Err("`ms` is missing".to_owned()),
    }
}
