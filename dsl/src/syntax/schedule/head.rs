//! Reads the header of a schedule, `NAME: kernel<T = f32> for profile where …`, and the whole schedule with its braces.

use super::{Binding, Schedule, items, several};
use crate::diag::Error;
use crate::syntax::expr;
use crate::syntax::limits;
use crate::syntax::{Cursor, Name, Prefix};
use proc_macro2::Delimiter;

impl Schedule {
    /// Reads a whole `schedule!`.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Schedule, Error> {
        let prefix = Prefix::parse(cursor)?;
        let name = cursor.name("the variant's name")?;
        cursor.expect(":")?;
        let kernel = path(cursor, "the kernel's path")?;
        let bindings = bindings(cursor)?;
        if !cursor.peek_word("for") {
            return Err(cursor
                .expected("`for` and a profile")
                .help("the header of a schedule is `NAME: kernel<T = f32> for profile where … { … }`"));
        }
        cursor.expect_word("for")?;
        let profile = path(cursor, "the profile's path")?;
        let facts = expr::facts(cursor)?;
        let (items, _) = cursor.group(Delimiter::Brace, |inside| Ok(items::items(inside)))?;
        let schedule = Schedule {
            prefix,
            name,
            kernel,
            bindings,
            profile,
            facts,
            items: several::apart(items.unwrap_or_default()),
            specialized: false,
        };
        limits::schedule(&schedule).map_or(Ok(schedule), Err)
    }
}

fn path(cursor: &mut Cursor<'_>, what: &str) -> Result<Vec<Name>, Error> {
    cursor.eat("::");
    let mut names = vec![segment(cursor, what)?];
    while cursor.eat("::").is_some() {
        names.push(segment(cursor, what)?);
    }
    Ok(names)
}

/// Reads a segment of a path: a name, or a keyword for a module.
fn segment(cursor: &mut Cursor<'_>, what: &str) -> Result<Name, Error> {
    for word in ["crate", "self", "super", "$crate"] {
        if let Some(span) = cursor.eat_word(word) {
            return Ok(Name { text: word.into(), span });
        }
    }
    cursor.name(what)
}

fn bindings(cursor: &mut Cursor<'_>) -> Result<Vec<Binding>, Error> {
    let mut found = Vec::new();
    if cursor.eat("<").is_none() {
        return Ok(found);
    }
    while !cursor.peek(">") {
        let name = cursor.name("a generic's name")?;
        cursor.expect("=")?;
        found.push(Binding { name, value: expr::arithmetic(cursor)? });
        if cursor.eat(",").is_none() {
            break;
        }
    }
    cursor.expect(">")?;
    Ok(found)
}
