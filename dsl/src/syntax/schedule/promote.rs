//! The arguments of `promote` and `compute_at`.

use super::{DirectiveKind, Listed, Memory, Promote};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::syntax::expr::Expr;
use crate::syntax::{Cursor, expr, families};
use proc_macro2::Delimiter;

/// The keys that may follow the copy's name.
const KEYS: [&str; 6] = ["at", "to", "fill", "row_pad", "vector", "swizzle"];

pub(super) fn promote(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let source = families::stage(cursor, "a tensor")?;
    let (mut name, mut axes) = (None, None);
    if cursor.eat("=>").is_some() {
        name = Some(cursor.name("a name for the copy")?);
        if cursor.peek_group(Delimiter::Bracket) {
            axes = Some(cursor.inside(Delimiter::Bracket, listed)?.0);
        }
    }
    let (mut at, mut to, mut values) = (None, None, [const { None }; 4]);
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        let key = cursor.name("`at`, `to` or another key")?;
        cursor.expect(":")?;
        let given = match key.as_str() {
            "at" => at.replace(cursor.name("an axis, `workgroup`, `subgroup` or `thread`")?).is_some(),
            "to" => to.replace(memory(cursor)?).is_some(),
            "fill" | "row_pad" | "vector" | "swizzle" => {
                let at = KEYS.iter().position(|k| *k == key.as_str()).unwrap_or(2) - 2;
                values[at].replace(expr::arithmetic(cursor)?).is_some()
            }
            other => {
                let error = Error::new(key.span, format!("`{other}` is not a key of `promote`"));
                let help = did_you_mean(other, KEYS);
                return Err(error.help(help.unwrap_or_else(|| format!("the keys of `promote` are {}", list(KEYS)))));
            }
        };
        if given {
            return Err(Error::new(key.span, format!("`{key}` is given twice")));
        }
    }
    let missing = |key: &str, what: &str| {
        let error = Error::new(source.span, format!("`promote` needs `{key}`: {what}"));
        error.help(format!("write `promote({source} => {source}_copy, at: …, to: …)`"))
    };
    let at = at.ok_or_else(|| missing("at", "the axis at whose loop the copy is made, or `workgroup`, `subgroup` or `thread`"))?;
    let (to, to_span) = to.ok_or_else(|| missing("to", "`shared`, `register` or `fragment`"))?;
    let [fill, row_pad, vector, swizzle]: [Option<Expr>; 4] = values;
    let promote = Promote {
        computed: false,
        source,
        name,
        list: axes,
        at,
        to,
        to_span,
        dealt: to == Memory::Fragment,
        fill,
        row_pad,
        vector,
        swizzle,
    };
    Ok(DirectiveKind::Promote(Box::new(promote)))
}

/// Reads `s, k_o, to: shared, row_pad: 4`.
pub(super) fn compute_at(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let source = families::stage(cursor, "a stage")?;
    cursor.expect(",")?;
    let at = cursor.name("an axis, `workgroup`, `subgroup` or `thread`")?;
    let (mut to, mut row_pad) = (None, None);
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        let key = cursor.name("`to` or `row_pad`")?;
        cursor.expect(":")?;
        let given = match key.as_str() {
            "to" => to.replace(memory(cursor)?).is_some(),
            "row_pad" => row_pad.replace(expr::arithmetic(cursor)?).is_some(),
            other => {
                let error = Error::new(key.span, format!("`{other}` is not a key of `compute_at`"));
                let help = did_you_mean(other, ["to", "row_pad"]);
                return Err(error.help(help.unwrap_or_else(|| "the keys are `to` and `row_pad`".into())));
            }
        };
        if given {
            return Err(Error::new(key.span, format!("`{key}` is given twice")));
        }
    }
    let missing = || {
        let error = Error::new(source.span, "`compute_at` needs `to`: `shared`, `register` or `fragment`");
        error.help(format!("write `compute_at({source}, {at}, to: …)`"))
    };
    let (to, to_span) = to.ok_or_else(missing)?;
    let (name, list, fill, vector, swizzle) = (None, None, None, None, None);
    let computed = true;
    Ok(DirectiveKind::ComputeAt(Box::new(Promote {
        computed,
        source,
        name,
        list,
        at,
        to,
        to_span,
        dealt: to == Memory::Fragment,
        fill,
        row_pad,
        vector,
        swizzle,
    })))
}

/// Reads `k, i, *`. An empty list makes a copy of one element.
fn listed(cursor: &mut Cursor<'_>) -> Result<Listed, Error> {
    let (mut axes, mut rest) = (Vec::new(), None);
    while !cursor.is_empty() {
        if let Some(star) = cursor.eat("*") {
            rest = Some(star);
            cursor.eat(",");
            if !cursor.is_empty() {
                let error = Error::new(star, "`*` means all remaining dimensions");
                return Err(error.help("write it once, at the end of the list"));
            }
            break;
        }
        axes.push(cursor.name("an axis, or `*`")?);
        if cursor.eat(",").is_none() {
            break;
        }
    }
    Ok(Listed { axes, rest })
}

/// The memories in which a copy, or a stage that is computed at a loop, can be placed.
const MEMORIES: [Memory; 3] = [Memory::Shared, Memory::Register, Memory::Fragment];

impl Memory {
    /// Returns the name in schedules.
    pub fn word(self) -> &'static str {
        match self {
            Memory::Shared => "shared",
            Memory::Register => "register",
            Memory::Fragment => "fragment",
        }
    }
}

/// Reads `shared`, `register` or `fragment`.
pub(super) fn memory(cursor: &mut Cursor<'_>) -> Result<(Memory, SpanId), Error> {
    let name = cursor.name("`shared`, `register` or `fragment`")?;
    let known = MEMORIES.map(Memory::word);
    match MEMORIES.into_iter().find(|memory| memory.word() == name.as_str()) {
        Some(memory) => Ok((memory, name.span)),
        None => {
            let error = Error::new(name.span, format!("unknown memory `{name}`"));
            let help = did_you_mean(name.as_str(), known);
            Err(error.help(help.unwrap_or_else(|| "a copy can be placed in `shared`, `register` or `fragment` memory".into())))
        }
    }
}
