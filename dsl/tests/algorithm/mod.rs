//! Tests of the language: kernels and headers that are right, and those that are refused.

mod combiners;
mod families;
mod functions;
mod heads;
mod ranges;
mod right;
mod several;
mod syntax;
mod together;
mod updates;
mod values;
mod wrong;

/// Removes the names of parsed texts, which are numbered.
fn without_names(errors: &str) -> String {
    let mut parts = errors.split("<parsed string ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(">:").map_or(part, |(_, rest)| rest))
}
