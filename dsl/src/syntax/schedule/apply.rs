//! Reads `apply a::TILES<R = 64>;`: the directives of another schedule, with values for its numbers.
//!
//! The directives take its place, so nothing after the parser knows of it. Their errors are at the directives themselves, and a note names
//! the `apply`.

use super::{Item, Library, head, numbers};
use crate::diag::{Error, SpanId};
use crate::syntax::{Cursor, limits};

/// Reads the rest after `apply`, and returns the items of the other schedule. `word` is the place of `apply`.
pub(super) fn apply(cursor: &mut Cursor<'_>, word: SpanId, library: &Library) -> Result<Vec<Item>, Error> {
    let path = head::path(cursor, "the path of a schedule")?;
    let given = numbers::arguments(cursor)?;
    let end = cursor.expect(";")?;
    let place = cursor.join(word, end);
    let text = path.iter().map(|name| name.as_str()).collect::<Vec<_>>().join("::");
    let values: Vec<String> = given.iter().map(|given| format!("{} = {}", given.name, given.value)).collect();
    let tokens = match library.find(&text) {
        Some(Some(tokens)) => tokens.clone(),
        // Its errors are reported where it is.
        Some(None) => return Ok(Vec::new()),
        None => return Err(Error::new(place, format!("the schedule `{text}` is not given with this one"))),
    };
    limits::applications(cursor.spans().explanations(), place)?;
    let before = cursor.spans().last();
    let items = cursor.other(tokens, |cursor| head::applied(cursor, Some(given)));
    let with = if values.is_empty() { String::new() } else { format!(" with {}", values.join(", ")) };
    cursor.spans().explain(before, place, format!("`{text}` is applied{with}"));
    items
}
