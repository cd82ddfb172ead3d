//! The arguments of `pipeline`.

use super::{DirectiveKind, Pipeline, Spot, SpotAt};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::syntax::expr::Expr;
use crate::syntax::{Cursor, Name, expr, families};

/// The keys that may follow the copies' names.
const KEYS: [&str; 4] = ["buffers", "prefetch", "fetch", "store"];

/// The keywords for positions in a step.
const PLACES: [&str; 4] = ["start", "end", "before", "after"];

/// The values of the keys so far.
#[derive(Default)]
struct Said {
    buffers: Option<Expr>,
    prefetch: Option<SpanId>,
    fetch: Option<Spot>,
    store: Option<Spot>,
}

/// Reads `k_o, a_s, b_s, buffers: 1, prefetch: register, fetch: start, store: after s early`.
pub(super) fn pipeline(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let axis = cursor.name("the axis of a loop")?;
    let (mut copies, mut said) = (Vec::new(), Said::default());
    let mut has_keys = false;
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        let name = cursor.name("a copy, or `buffers`")?;
        if cursor.eat(":").is_some() {
            has_keys = true;
            value(cursor, &name, &mut said)?;
        } else if has_keys {
            let error = Error::new(name.span, format!("`{name}` must come before the named arguments"));
            return Err(error.help(format!("write the copies after the axis: `pipeline({axis}, {name}, buffers: …)`")));
        } else {
            copies.push(name);
        }
    }
    let Said { buffers, prefetch, fetch, store } = said;
    let Some(buffers) = buffers else {
        let error = Error::new(axis.span, "`pipeline` needs `buffers`, the number of buffers for each copy");
        let all = copies.iter().fold(axis.text.clone(), |all, copy| format!("{all}, {copy}"));
        return Err(
            error.help(format!("write `pipeline({all}, buffers: 1, prefetch: register)`, or `pipeline({all}, buffers: 2)`"))
        );
    };
    Ok(DirectiveKind::Pipeline(Box::new(Pipeline { axis, copies, buffers, prefetch, fetch, store })))
}

fn value(cursor: &mut Cursor<'_>, key: &Name, said: &mut Said) -> Result<(), Error> {
    let given = match key.as_str() {
        "buffers" => said.buffers.replace(expr::arithmetic(cursor)?).is_some(),
        "prefetch" => said.prefetch.replace(registers(cursor)?).is_some(),
        "fetch" => said.fetch.replace(spot(cursor)?).is_some(),
        "store" => said.store.replace(spot(cursor)?).is_some(),
        other => {
            let error = Error::new(key.span, format!("`{other}` is not a key of `pipeline`"));
            let help = did_you_mean(other, KEYS);
            return Err(error.help(help.unwrap_or_else(|| format!("the keys of `pipeline` are {}", list(KEYS)))));
        }
    };
    match given {
        true => Err(Error::new(key.span, format!("`{key}` is given twice"))),
        false => Ok(()),
    }
}

/// Reads `register`.
fn registers(cursor: &mut Cursor<'_>) -> Result<SpanId, Error> {
    let name = cursor.name("`register`")?;
    if name.as_str() == "register" {
        return Ok(name.span);
    }
    let error = Error::new(name.span, format!("a copy is not prefetched to `{name}`"));
    Err(error.help("write `prefetch: register`"))
}

/// Reads `start`, `end`, `before s` or `after s`, with an optional `early` after it.
fn spot(cursor: &mut Cursor<'_>) -> Result<Spot, Error> {
    let word = cursor.name("`start`, `end`, `before` or `after`")?;
    let (mut last, at) = match word.as_str() {
        "start" => (word.span, SpotAt::Start),
        "end" => (word.span, SpotAt::End),
        "before" | "after" => {
            let stage = families::stage(cursor, "a stage of the step")?;
            let at = if word.as_str() == "before" { SpotAt::Before } else { SpotAt::After };
            (stage.span, at(stage))
        }
        other => {
            let error = Error::new(word.span, format!("`{other}` is not a place in a step"));
            let help = did_you_mean(other, PLACES);
            return Err(error.help(help.unwrap_or_else(|| "write `start`, `end`, `before s` or `after s`".into())));
        }
    };
    let early = cursor.eat_word("early");
    last = early.unwrap_or(last);
    let span = cursor.join(word.span, last);
    Ok(Spot { at, early: early.is_some(), span })
}
