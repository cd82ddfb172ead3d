//! Reads the header of a schedule, `NAME<R = 32>: kernel<T = f32> for profile where …`, and the whole schedule with its braces.

use super::numbers::{self, Given};
use super::{Binding, Item, Library, Schedule, Statement, StatementKind, items, several};
use crate::diag::Error;
use crate::syntax::expr;
use crate::syntax::limits;
use crate::syntax::{Cursor, Name, Prefix};
use proc_macro2::Delimiter;

impl Schedule {
    /// Reads a whole `schedule!`, after the [`Library`] of the schedules that it applies, if there is one.
    pub fn parse(cursor: &mut Cursor<'_>) -> Result<Schedule, Error> {
        let library = Library::read(cursor)?;
        let prefix = Prefix::parse(cursor)?;
        let name = cursor.name("the variant's name")?;
        let numbers = numbers::declared(cursor)?;
        let rest = cursor.rest();
        numbers::check_used(&numbers, rest.clone())?;
        let rest = numbers::valued(rest, &numbers);
        let numbers = numbers.into_iter().map(|number| number.name).collect();
        cursor.other(rest, |cursor| {
            let schedule = Schedule { prefix, name, numbers, ..Schedule::of_header(cursor)? };
            let (items, _) = cursor.group(Delimiter::Brace, |inside| Ok(items::items(inside, &library)))?;
            let schedule = Schedule { items: several::apart(items.unwrap_or_default()), ..schedule };
            limits::schedule(&schedule).map_or(Ok(schedule), Err)
        })
    }

    /// Reads `: kernel<T = f32> for profile where facts`.
    fn of_header(cursor: &mut Cursor<'_>) -> Result<Schedule, Error> {
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
        Ok(Schedule { kernel, bindings, profile, facts: expr::facts(cursor)?, ..Schedule::default() })
    }
}

/// Reads a schedule, or a list of directives, `NAME<R = 32> { … }`, for its errors.
pub(crate) fn check(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    let is_list = cursor.ahead(|cursor| {
        Library::read(cursor)?;
        Prefix::parse(cursor)?;
        cursor.name("the name of a list of directives")?;
        numbers::declared(cursor)?;
        Ok(cursor.peek_group(Delimiter::Brace))
    });
    if is_list == Some(true) { applied(cursor, None).map(drop) } else { Schedule::parse(cursor).map(drop) }
}

/// Reads a whole `schedule!` that others apply, with the given values of its numbers, and returns its items. Its header, if it has one, does
/// not count. Without values, the `schedule!` is only checked, and each of its numbers must be used.
pub(super) fn applied(cursor: &mut Cursor<'_>, given: Option<Vec<Given>>) -> Result<Vec<Item>, Error> {
    let library = Library::read(cursor)?;
    Prefix::parse(cursor)?;
    let name = cursor.name("the name of a list of directives")?;
    let numbers = numbers::declared(cursor)?;
    cursor.skip_to_group(Delimiter::Brace);
    let rest = cursor.rest();
    let numbers = match given {
        Some(given) => numbers::given(&name, numbers, given)?,
        None => {
            numbers::check_used(&numbers, rest.clone())?;
            numbers
        }
    };
    let rest = numbers::valued(rest, &numbers);
    cursor.other(rest, |cursor| {
        let (items, _) = cursor.group(Delimiter::Brace, |inside| Ok(items::items(inside, &library)))?;
        let items = items.unwrap_or_default();
        for item in &items {
            if let Item::Statement(Statement { kind: StatementKind::Tune(tune), span, .. }) = item {
                let error = Error::new(*span, format!("`{name}` is applied by another schedule, so it cannot tune constants"));
                let help =
                    format!("give `{name}` a number, `{name}<{0} = …>`, and tune its value in the other schedule", tune.name);
                return Err(error.help(help));
            }
        }
        Ok(items)
    })
}

pub(super) fn path(cursor: &mut Cursor<'_>, what: &str) -> Result<Vec<Name>, Error> {
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
    let found = named(cursor, "a generic's name", |cursor, _| {
        cursor.expect("=")?;
        expr::arithmetic(cursor)
    })?;
    Ok(found.into_iter().map(|(name, value)| Binding { name, value }).collect())
}

/// Reads names with values, `<T = f32, S = 2>`, if they come next. `value` reads the rest after a name.
pub(super) fn named<T>(
    cursor: &mut Cursor<'_>,
    what: &str,
    value: impl Fn(&mut Cursor<'_>, &Name) -> Result<T, Error>,
) -> Result<Vec<(Name, T)>, Error> {
    let mut found = Vec::new();
    if cursor.eat("<").is_none() {
        return Ok(found);
    }
    while !cursor.peek(">") {
        let name = cursor.name(what)?;
        let value = value(cursor, &name)?;
        found.push((name, value));
        if cursor.eat(",").is_none() {
            break;
        }
    }
    cursor.expect(">")?;
    Ok(found)
}
