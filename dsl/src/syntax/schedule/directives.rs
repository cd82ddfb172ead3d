//! A directive: its name, and which parser reads its arguments.

use super::statements::STATEMENTS;
use super::{Directive, DirectiveKind, promote, target, tiles, vectorize};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::syntax::{Cursor, Name};
use proc_macro2::Delimiter;

/// The names of the directives, and of those that the design has and this version has not.
const DIRECTIVES: [&str; 14] = [
    "split",
    "tile",
    "fuse",
    "reorder",
    "distribute",
    "serial",
    "unroll",
    "vectorize",
    "promote",
    "compute_at",
    "rfactor",
    "inline",
    "root",
    "show",
];
const LATER: [&str; 4] = ["pipeline", "mma", "dot", "decompose_winograd"];

pub(super) fn directive(cursor: &mut Cursor<'_>, name: Name) -> Result<Directive, Error> {
    if !DIRECTIVES.contains(&name.as_str()) {
        return Err(unknown(&name));
    }
    let (kind, end) = match name.as_str() {
        "show" => show(cursor, name.span)?,
        "tile" => tiles::tile(cursor)?,
        "split" => cursor.inside(Delimiter::Parenthesis, tiles::split)?,
        "fuse" => {
            cursor.inside(Delimiter::Parenthesis, |c| Ok(DirectiveKind::Fuse { axes: names_to(c, "=>")?, into: arrow_name(c)? }))?
        }
        "distribute" => cursor.inside(Delimiter::Parenthesis, |c| {
            let axes = names_to(c, "=>")?;
            c.expect("=>")?;
            let target = target::target(c)?;
            let by = if c.eat(",").is_some() && !c.is_empty() { Some(target::by(c)?) } else { None };
            Ok(DirectiveKind::Distribute { axes, target, by })
        })?,
        "rfactor" => cursor.inside(Delimiter::Parenthesis, |c| {
            Ok(DirectiveKind::Rfactor { axis: c.name("an axis of a reduction")?, into: arrow_name(c)? })
        })?,
        "vectorize" => cursor.inside(Delimiter::Parenthesis, vectorize::vectorize)?,
        "promote" => cursor.inside(Delimiter::Parenthesis, promote::promote)?,
        "compute_at" => cursor.inside(Delimiter::Parenthesis, promote::compute_at)?,
        plain => {
            let what = if matches!(plain, "inline" | "root") { "a stage" } else { "an axis" };
            let (axes, end) = cursor.inside(Delimiter::Parenthesis, |c| names(c, what, ""))?;
            let kind = match plain {
                "inline" => DirectiveKind::Inline(axes),
                "root" => DirectiveKind::Root(axes),
                "reorder" => DirectiveKind::Reorder(axes),
                "serial" => DirectiveKind::Serial(axes),
                _ => DirectiveKind::Unroll(axes),
            };
            (kind, end)
        }
    };
    let span = cursor.join(name.span, end);
    cursor.expect(";")?;
    Ok(Directive { kind, span })
}

fn unknown(name: &Name) -> Error {
    let error = Error::new(name.span, format!("there is no directive `{name}`"));
    if LATER.contains(&name.as_str()) || name.text.starts_with("decompose_") {
        return Error::new(name.span, format!("the directive `{name}` is not supported yet"));
    }
    let known = DIRECTIVES.into_iter().chain(STATEMENTS);
    let help = did_you_mean(&name.text, known).unwrap_or_else(|| format!("the directives are {}", list(DIRECTIVES)));
    error.help(help)
}

fn show(cursor: &mut Cursor<'_>, name: SpanId) -> Result<(DirectiveKind, SpanId), Error> {
    if cursor.peek_group(Delimiter::Parenthesis) {
        let (_, end) = cursor.inside(Delimiter::Parenthesis, |_| Ok(()))?;
        return Ok((DirectiveKind::Show, end));
    }
    Ok((DirectiveKind::Show, name))
}

/// Names of axes with commas between them, up to an operator or the end; at least one.
pub(super) fn names_to(cursor: &mut Cursor<'_>, stop: &str) -> Result<Vec<Name>, Error> {
    names(cursor, "an axis", stop)
}

fn names(cursor: &mut Cursor<'_>, what: &str, stop: &str) -> Result<Vec<Name>, Error> {
    let mut names = vec![cursor.name(what)?];
    while cursor.eat(",").is_some() {
        if cursor.is_empty() || (!stop.is_empty() && cursor.peek(stop)) {
            break;
        }
        names.push(cursor.name(what)?);
    }
    Ok(names)
}

fn arrow_name(cursor: &mut Cursor<'_>) -> Result<Name, Error> {
    cursor.expect("=>")?;
    cursor.name("a name for the result")
}
