//! `clone(g => g_y, reader: y)`.

use super::StatementKind;
use crate::diag::{Error, SpanId};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;

/// The arguments of `clone`.
#[derive(Clone, Debug, PartialEq)]
pub struct StageClone {
    /// The intermediate.
    pub stage: Name,
    /// The name of its clone.
    pub into: Name,
    /// The stages that read the clone.
    pub readers: Vec<Name>,
}

const FORM: &str = "it is written `clone(g => g_y, reader: y)`: the intermediate; a name for its clone; the stage that reads the clone, or several, `[y, z]`";

pub(super) fn clone(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let form = |error: Error| if error.help.is_none() { error.help(FORM) } else { error };
    let (clone, end) = cursor.inside(Delimiter::Parenthesis, |c| arguments(c).map_err(form)).map_err(form)?;
    Ok((StatementKind::Clone(clone), end))
}

fn arguments(cursor: &mut Cursor<'_>) -> Result<StageClone, Error> {
    let stage = families::stage(cursor, "an intermediate")?;
    cursor.expect("=>")?;
    let into = cursor.name("a name for the clone")?;
    cursor.expect(",")?;
    if !cursor.peek_word("reader") {
        return Err(cursor.expected("`reader`"));
    }
    cursor.name("`reader`")?;
    cursor.expect(":")?;
    let readers = match cursor.peek_group(Delimiter::Bracket) {
        true => cursor.list(Delimiter::Bracket, |c| families::stage(c, "a stage"))?.0,
        false => vec![families::stage(cursor, "a stage")?],
    };
    if readers.is_empty() {
        return Err(Error::new(into.span, format!("no stage is to read `{into}`")));
    }
    cursor.eat(",");
    if !cursor.is_empty() {
        return Err(cursor.expected("the end"));
    }
    Ok(StageClone { stage, into, readers })
}
