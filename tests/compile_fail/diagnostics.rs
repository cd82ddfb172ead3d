//! The diagnostics of rustc, as the files of errors have them.

use serde_json::Value;

/// An error or a warning.
pub(crate) struct Diagnostic {
    /// The file of its first place. It is empty without a place.
    pub(crate) file: String,
    text: String,
}

/// Returns the diagnostic of a line that rustc prints as JSON, unless it only counts the others or explains their codes.
pub(crate) fn parse(line: &str) -> Option<Diagnostic> {
    let printed: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("rustc prints: {line}"));
    let is_counted = printed["level"] != "failure-note" && !printed["message"].as_str()?.starts_with("aborting due to ");
    let spans = printed["spans"].as_array().filter(|_| is_counted)?;
    let first = spans.iter().find(|span| span["is_primary"] == true);
    let file = first.and_then(|span| span["file_name"].as_str()).unwrap_or_default();
    Some(Diagnostic { file: file.to_owned(), text: printed["rendered"].as_str()?.trim_end().to_owned() })
}

/// Returns a line without trailing blanks, and without the line number of a place outside of `tests/ui`, because that number changes with
/// the library.
fn without_foreign_numbers(line: &str) -> &str {
    let is_foreign = line.trim_start().strip_prefix("--> ").is_some_and(|place| !place.starts_with("ui/"));
    let file = if is_foreign { line.rsplitn(3, ':').last() } else { None };
    file.unwrap_or(line).trim_end()
}

/// Returns the text of diagnostics.
pub(crate) fn text(diagnostics: &[Diagnostic]) -> String {
    let texts: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.text.as_str()).collect();
    let text = texts.join("\n\n");
    text.lines().flat_map(|line| [without_foreign_numbers(line), "\n"]).collect()
}
