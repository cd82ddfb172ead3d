//! Writes the chosen values into the file. It changes the defaults of the `tune` lines and no other byte.

use super::record::beside;
use crate::exit::Problem;
use crate::variant::tunes;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use tilewright_dsl::schedule::tune::Choice;
use tilewright_explain::source::Subject;

/// Returns a file's text with the changed defaults of a schedule's `tune` lines.
pub(super) fn edited(text: &str, subject: &Subject, chosen: &Choice) -> Result<String, Problem> {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for tune in tunes(subject) {
        let Some((_, value)) = chosen.0.iter().find(|(name, _)| *name == tune.name.text) else { continue };
        let lost =
            || Problem::usage(format!("the default of `{}` is not in the file: it was changed during tuning", tune.name.text));
        let (first, last) = subject.spans.get(tune.default.span).ok_or_else(lost)?;
        let (start, end) = (first.start(), last.end());
        let range = at(text, start.line, start.column).zip(at(text, end.line, end.column)).map(|(a, b)| a..b).ok_or_else(lost)?;
        if text.get(range.clone()) != subject.spans.source(tune.default.span).as_deref() {
            return Err(lost());
        }
        edits.push((range, value.to_string()));
    }
    // Edits from the end on, so that the places of earlier edits stay valid.
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut text = text.to_owned();
    for (range, value) in edits {
        // A literal in another form stays if it has the same value.
        if text[range.clone()].replace('_', "").parse::<i64>().ok() != value.parse().ok() {
            text.replace_range(range, &value);
        }
    }
    Ok(text)
}

/// Returns the byte offset of a line, counted from 1, and a column in characters, counted from 0.
fn at(text: &str, line: usize, column: usize) -> Option<usize> {
    let start = match line.checked_sub(1)? {
        0 => 0,
        n => text.match_indices('\n').nth(n - 1)?.0 + 1,
    };
    // A byte order mark at the start of a file does not count as a column.
    let start = if line == 1 && text.starts_with('\u{feff}') { start + '\u{feff}'.len_utf8() } else { start };
    let rest = &text[start..];
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).nth(column).map(|at| start + at)
}

/// Replaces a file as a whole, or not at all.
pub(crate) fn replace(file: &Path, text: &str) -> Result<(), Problem> {
    let fails = |e: std::io::Error| Problem::usage(format!("cannot write {}: {e}", file.display()));
    // A symbolic link is kept, and its target is replaced.
    let target = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
    let folder = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(fails)?;
    new.write_all(text.as_bytes()).map_err(fails)?;
    if let Ok(metadata) = std::fs::metadata(&target) {
        new.as_file().set_permissions(metadata.permissions()).map_err(fails)?;
    } else {
        #[cfg(unix)]
        new.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644)).map_err(fails)?;
    }
    new.persist(&target).map_err(|e| fails(e.error))?;
    Ok(())
}

/// Writes the record next to a file.
pub(super) fn record(file: &Path, text: &str) -> Result<(), Problem> {
    replace(&beside(file), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_characters() {
        let text = "\u{feff}ab\n\u{e4}\u{1f600}x = 8\r\n";
        assert_eq!(at(text, 1, 0), Some(3));
        assert_eq!(&text[at(text, 2, 6).expect("there")..at(text, 2, 7).expect("there")], "8");
        assert_eq!((at(text, 4, 0), at(text, 0, 0)), (None, None));
    }
}
