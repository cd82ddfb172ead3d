//! Reads the items in a schedule's braces: directives, and blocks of directives for stages.

use super::directives::{directive, foreign, method};
use super::statements::in_block;
use super::{Item, Library, apply};
use crate::diag::{Error, SpanId};
use crate::syntax::{Cursor, families};
use proc_macro2::Delimiter;

/// Reads directives and blocks up to the end. If one cannot be read, the error is recorded and reading continues with the next one.
/// `library` has the schedules that `apply` names.
pub(super) fn items(cursor: &mut Cursor<'_>, library: &Library) -> Vec<Item> {
    let mut found = Vec::new();
    while !cursor.is_empty() {
        match item(cursor, library) {
            Ok(items) => found.extend(items),
            Err(error) => {
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    found
}

fn item(cursor: &mut Cursor<'_>, library: &Library) -> Result<Vec<Item>, Error> {
    if let Some(error) = foreign(cursor) {
        return Err(error);
    }
    let first = families::stages(cursor, "a directive or a stage")?;
    if let Some(error) = method(cursor, &first) {
        return Err(error);
    }
    if !cursor.peek(",") && !cursor.peek_group(Delimiter::Brace) {
        return match first.as_str() {
            "apply" => apply::apply(cursor, first.span, library),
            _ => directive(cursor, &first).map(|item| vec![item]),
        };
    }
    let mut stages = vec![first];
    while cursor.eat(",").is_some() {
        stages.push(families::stages(cursor, "a stage")?);
    }
    let (directives, _) = cursor.group(Delimiter::Brace, |inside| {
        let mut found = Vec::new();
        for item in items(inside, library) {
            match item {
                Item::Directive(directive) => found.push(directive),
                Item::Statement(statement) => inside.report(in_block(&statement)),
                Item::Block { stages, .. } => {
                    let span = stages.first().map_or(SpanId::NONE, |s| s.span);
                    inside.report(
                        Error::new(span, "a stage's block is nested in another block").help("write it after the other block"),
                    );
                }
            }
        }
        Ok(found)
    })?;
    Ok(vec![Item::Block { stages, directives: directives.unwrap_or_default() }])
}
