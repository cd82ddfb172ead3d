//! `decompose_online(m, l, o => m_b, l_b, o_b, block: 64, mask: s)`.

use super::StatementKind;
use crate::diag::{Error, SpanId, list};
use crate::syntax::expr::{self, Expr};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;

/// The arguments of `decompose_online`.
#[derive(Clone, Debug, PartialEq)]
pub struct Online {
    /// The maximum, and the sums of exponentials relative to it.
    pub members: Vec<Name>,
    /// The blocks in which they are computed, if any.
    pub blocks: Option<Blocks>,
}

/// The blocks of items. Each block is reduced by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Blocks {
    /// The names for the stages that reduce a block, one for each reduction.
    pub names: Vec<Name>,
    /// The number of items of a block.
    pub size: Expr,
    /// The scores that are set to -inf out of bounds. If `None`, their readers are masked instead.
    pub masked: Option<Name>,
}

const FORM: &str = "it is written `decompose_online(m, l)`: the maximum and the sums of exponentials below it; or \
    `decompose_online(m, l, o => m_b, l_b, o_b, block: 64)`, with names for their partial results of a block of 64 items; \
    `mask: s` may follow `block`, and names the scores that are set to -inf out of bounds";

pub(super) fn decompose_online(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (online, end) = cursor.inside(Delimiter::Parenthesis, arguments).map_err(form)?;
    Ok((StatementKind::Online(online), end))
}

/// Adds the syntax as help to an error without help.
fn form(error: Error) -> Error {
    if error.help.is_none() { error.help(FORM) } else { error }
}

fn arguments(cursor: &mut Cursor<'_>) -> Result<Online, Error> {
    let mut members = vec![families::stage(cursor, "a maximum").map_err(form)?];
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        members.push(families::stage(cursor, "a sum").map_err(form)?);
    }
    if let (Some(key), true) = (members.last().filter(|name| name.text == "block"), cursor.peek(":")) {
        let error = Error::new(key.span, "blocks need names for their stages");
        return Err(error.help(FORM));
    }
    if !cursor.is_empty() && !cursor.peek("=>") {
        return Err(form(cursor.expected("`,` or `=>`")));
    }
    if members.len() < 2 {
        let error = Error::new(members[0].span, format!("`decompose_online` needs a sum besides the maximum `{}`", members[0]));
        return Err(error.help(FORM));
    }
    let blocks = match cursor.eat("=>") {
        Some(_) => Some(blocks(cursor, &members)?),
        None => None,
    };
    if !cursor.is_empty() {
        return Err(form(cursor.expected("the end")));
    }
    Ok(Online { members, blocks })
}

/// Reads `m_b, l_b, o_b, block: 64`.
fn blocks(cursor: &mut Cursor<'_>, members: &[Name]) -> Result<Blocks, Error> {
    let mut names = Vec::new();
    loop {
        let name = cursor.name("a name for the partial result of a block, or `block`").map_err(form)?;
        if name.text == "block" && cursor.eat(":").is_some() {
            let size = expr::arithmetic(cursor)?;
            if names.len() != members.len() {
                let (count, all) = (names.len(), list(members));
                let error = Error::new(name.span, format!("each of {all} needs a name for its blocks, and {count} are given"));
                return Err(error.help(FORM));
            }
            return Ok(Blocks { names, size, masked: masked(cursor)? });
        }
        if cursor.peek(":") {
            return Err(Error::new(name.span, format!("unknown key `{name}`")).help("the keys are `block` and, after it, `mask`"));
        }
        names.push(name);
        if cursor.eat(",").is_none() {
            let error = Error::new(members[0].span, "`decompose_online` needs `block`, the number of items of a block");
            return Err(error.help(FORM));
        }
    }
}

/// Reads `mask: s`, if it is written.
fn masked(cursor: &mut Cursor<'_>) -> Result<Option<Name>, Error> {
    if cursor.eat(",").is_none() || cursor.is_empty() {
        return Ok(None);
    }
    let key = cursor.name("`mask`").map_err(form)?;
    if key.text != "mask" || cursor.eat(":").is_none() {
        return Err(form(Error::new(key.span, format!("unknown key `{key}`"))));
    }
    let scores = families::stage(cursor, "the scores").map_err(form)?;
    cursor.eat(",");
    Ok(Some(scores))
}
