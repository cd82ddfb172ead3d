//! `split` and `tile`: factors, tails and the names of parts.

use super::directives::names_to;
use super::target::{by, target};
use super::{DirectiveKind, Factor, TailWord, Tile};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::nest::Tail;
use crate::syntax::{Cursor, expr};
use proc_macro2::Delimiter;

pub(super) fn split(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(",")?;
    if !cursor.peek_group(Delimiter::Bracket) {
        let error = cursor.expected("a list of factors, outermost first");
        return Err(error.help(format!("write `split({axis}, [_, 8] => {axis}_o, {axis}_i)`: `_` is inferred")));
    }
    let (factors, _) = cursor.inside(Delimiter::Bracket, |inside| {
        let mut factors = vec![factor(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            factors.push(factor(inside)?);
        }
        Ok(factors)
    })?;
    let tail = tail(cursor)?;
    cursor.expect("=>")?;
    let names = names_to(cursor, "")?;
    Ok(DirectiveKind::Split { axis, factors, tail, names })
}

fn factor(cursor: &mut Cursor<'_>) -> Result<Factor, Error> {
    match cursor.eat_word("_").or_else(|| cursor.eat("_")) {
        Some(span) => Ok(Factor::Inferred(span)),
        None => expr::arithmetic(cursor).map(Factor::Number),
    }
}

fn tail(cursor: &mut Cursor<'_>) -> Result<Option<TailWord>, Error> {
    let Some(word) = cursor.peek_name() else { return Ok(None) };
    let name = cursor.name("a tail")?;
    let tail = match word.as_str() {
        "guard" => Tail::Guard,
        "exact" => Tail::Exact,
        "round_up" => Tail::RoundUp,
        "peel" => Tail::Peel,
        "shift" => Tail::Shift,
        _ => {
            let tails = ["guard", "exact", "round_up", "peel", "shift"];
            let help = did_you_mean(&word, tails).unwrap_or_else(|| format!("the tails are {}", list(tails)));
            return Err(Error::new(name.span, format!("unknown tail `{word}`")).help(help));
        }
    };
    Ok(Some(TailWord { tail, span: name.span }))
}

pub(super) fn tile(cursor: &mut Cursor<'_>) -> Result<(DirectiveKind, SpanId), Error> {
    let (tiles, end) = cursor.inside(Delimiter::Parenthesis, |inside| {
        let mut tiles = vec![one_tile(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            tiles.push(one_tile(inside)?);
        }
        Ok(tiles)
    })?;
    if cursor.eat("=>").is_none() {
        return Ok((DirectiveKind::Tile { tiles, target: None, by: None }, end));
    }
    let target = target(cursor)?;
    let by = if cursor.eat(",").is_some() { Some(by(cursor)?) } else { None };
    let end = by.map_or(target.span, |by| by.span);
    Ok((DirectiveKind::Tile { tiles, target: Some(target), by }, end))
}

fn one_tile(cursor: &mut Cursor<'_>) -> Result<Tile, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(":").map_err(|error| error.help(format!("each axis has its factor: `tile({axis}: 8)`")))?;
    let factor = expr::arithmetic(cursor)?;
    let tail = tail(cursor)?;
    let outer = if cursor.eat("=>").is_some() { Some(cursor.name("a name for the outer part")?) } else { None };
    Ok(Tile { axis, factor, tail, outer })
}
