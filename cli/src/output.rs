//! Prints text with colours where they are wanted (`NO_COLOR`, pipes), tables, and JSON.

use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, ColumnConstraint, Table, Width, presets};
use serde::Serialize;
use std::fmt::Display;
use std::io::Write;

/// Prints text. A closed pipe is not an error.
pub(crate) fn text(text: impl Display) {
    let _ = write!(anstream::stdout(), "{text}");
}

/// Prints a line.
pub(crate) fn line(line: impl Display) {
    text(format_args!("{line}\n"));
}

/// Prints a line on standard error. A message that cannot be written is not an error.
pub(crate) fn message(line: impl Display) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// Prints bytes.
pub(crate) fn raw(bytes: &[u8]) {
    let _ = std::io::stdout().write_all(bytes);
}

/// Prints a value as JSON, over several lines.
pub(crate) fn json(value: &impl Serialize) {
    match serde_json::to_string_pretty(value) {
        Ok(text) => raw(format!("{text}\n").as_bytes()),
        Err(error) => message(format_args!("error: no JSON can be made of the result: {error}")),
    }
}

/// Returns a word in a colour.
pub(crate) fn coloured(colour: AnsiColor, word: impl Display) -> String {
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{word}{style:#}")
}

/// Returns a heading.
pub(crate) fn heading(words: impl Display) -> String {
    let style = Style::new().bold();
    format!("{style}{words}{style:#}")
}

/// Returns a table without lines. `right` lists the columns with numbers, which are aligned to the right.
pub(crate) fn table(heads: &[&str], rows: Vec<Vec<String>>, right: &[usize]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heads.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for n in right {
        if let Some(column) = table.column_mut(*n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for column in table.column_iter_mut() {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(100)));
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns a table in Markdown.
pub(crate) fn markdown(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(heads.to_vec()).add_rows(rows);
    format!("{}\n", table.trim_fmt())
}
