//! Where axes go: `workgroup(z, y, x)`, `thread(x)`.

use super::Target;
use crate::diag::{Error, SpanId, did_you_mean};
use crate::nest::{Level, Slot};
use crate::syntax::Cursor;
use proc_macro2::Delimiter;

pub(super) fn target(cursor: &mut Cursor<'_>) -> Result<Target, Error> {
    let name = cursor.name("`workgroup(…)` or `thread(…)`")?;
    let level = match name.as_str() {
        "workgroup" => Level::Workgroup,
        "thread" => Level::Thread,
        "subgroup" | "lane" => return Err(Error::new(name.span, format!("distribution to `{name}` is not supported yet"))),
        _ => {
            let error = Error::new(name.span, format!("nothing can be distributed to `{name}`"));
            let help = did_you_mean(&name.text, ["workgroup", "thread"]);
            return Err(error.help(help.unwrap_or_else(|| "write `workgroup(…)` or `thread(…)`".into())));
        }
    };
    let (slots, end) = cursor.inside(Delimiter::Parenthesis, |inside| {
        let mut slots = vec![slot(inside)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            slots.push(slot(inside)?);
        }
        Ok(slots)
    })?;
    if let Some((_, at)) = slots.iter().find(|(slot, _)| *slot == Slot::Linear && level == Level::Workgroup) {
        return Err(Error::new(*at, "workgroups have no linear coordinate").help("the coordinates are `x`, `y` and `z`"));
    }
    let span = cursor.join(name.span, end);
    Ok(Target { level, slots, span })
}

fn slot(cursor: &mut Cursor<'_>) -> Result<(Slot, SpanId), Error> {
    let name = cursor.name("`x`, `y` or `z`")?;
    let slot = match name.as_str() {
        "x" => Slot::X,
        "y" => Slot::Y,
        "z" => Slot::Z,
        "linear" => Slot::Linear,
        _ => {
            let help = "the coordinates are `x`, `y` and `z`, and `linear` for all of them, x fastest";
            return Err(Error::new(name.span, format!("there is no coordinate `{name}`")).help(help));
        }
    };
    Ok((slot, name.span))
}

/// `by: …` comes with reductions across invocations.
pub(super) fn refuse_strategy(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    if cursor.eat(",").is_some() && !cursor.is_empty() {
        let here = cursor.here();
        return Err(Error::new(here, "reductions across invocations are not supported yet"));
    }
    Ok(())
}
