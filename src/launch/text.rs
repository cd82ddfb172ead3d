//! Prints sizes and shapes as the user wrote them, with the values of their dims.

use super::solve::dims_of;
use tilewright_launch::{Program, Size};

/// Prints a size.
pub(super) fn size(program: &Program, size: &Size) -> String {
    size.display(&|d| dim_name(program, d)).to_string()
}

/// Prints a shape, for example `[N, 2 * OH + 1]`.
pub(super) fn shape(program: &Program, shape: &[Size]) -> String {
    format!("[{}]", shape.iter().map(|s| size(program, s)).collect::<Vec<_>>().join(", "))
}

/// Prints the dims that sizes name and their values, for example `OH = 3, OW = 4`; empty if they name none.
pub(super) fn values<'a>(program: &Program, dims: &[i64], sizes: impl IntoIterator<Item = &'a Size>) -> String {
    named(program, dims, sizes, "=")
}

/// Prints the same values for a sentence: `OH is 3, OW is 4`.
pub(super) fn are<'a>(program: &Program, dims: &[i64], sizes: impl IntoIterator<Item = &'a Size>) -> String {
    named(program, dims, sizes, "is")
}

fn named<'a>(program: &Program, dims: &[i64], sizes: impl IntoIterator<Item = &'a Size>, verb: &str) -> String {
    let mut named = Vec::new();
    for s in sizes {
        dims_of(s, &mut |d| {
            if !named.contains(&d) {
                named.push(d);
            }
        });
    }
    let one = |d: u32| Some(format!("{} {verb} {}", dim_name(program, d), dims.get(d as usize)?));
    named.into_iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

/// Prints a scalar's name and value, joined by `verb`.
pub(super) fn scalar(program: &Program, scalar: u32, value: f64, verb: &str) -> String {
    program.scalars.get(scalar as usize).map_or_else(String::new, |scalar| format!("{} {verb} {value:?}", scalar.name))
}

/// Returns a dim's name.
pub(super) fn dim_name(program: &Program, dim: u32) -> String {
    program.dims.get(dim as usize).map_or_else(|| "?".to_owned(), |d| d.name.clone())
}
