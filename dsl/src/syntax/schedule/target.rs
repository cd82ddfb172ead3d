//! The targets of axes, `workgroup(z, y, x)`, `thread(x)`, `subgroup(x)`, `lane(x)`, and the strategies that combine partial results of a
//! distributed reduction, `by: tree`.

use super::{By, Target};
use crate::diag::{Error, SpanId, did_you_mean, list};
use crate::nest::{How, Level, Slot};
use crate::syntax::Cursor;
use proc_macro2::Delimiter;

const TARGETS: [(&str, Level); 4] =
    [("workgroup", Level::Workgroup), ("thread", Level::Thread), ("subgroup", Level::Subgroup), ("lane", Level::Lane)];
const STRATEGIES: [(&str, How); 3] = [("subgroup", How::Subgroup), ("tree", How::Tree), ("atomic", How::Atomic)];
const STRATEGIES_OF_ROWS: [(&str, How); 2] = [("matrix", How::Matrix), ("shared", How::Tree)];

pub(super) fn target(cursor: &mut Cursor<'_>) -> Result<Target, Error> {
    let name = cursor.name("`workgroup(…)`, `thread(…)`, `subgroup(…)` or `lane(…)`")?;
    let Some((_, level)) = TARGETS.iter().find(|(word, _)| *word == name.as_str()) else {
        let error = Error::new(name.span, format!("axes cannot be distributed to `{name}`"));
        let help = did_you_mean(&name.text, TARGETS.map(|(word, _)| word));
        let targets = list(TARGETS.map(|(word, _)| format!("{word}(…)")));
        return Err(error.help(help.unwrap_or_else(|| format!("the targets are {targets}"))));
    };
    let (slots, end) = cursor.inside(Delimiter::Parenthesis, |inside| {
        let mut slots = vec![slot(inside, *level)?];
        while inside.eat(",").is_some() && !inside.is_empty() {
            slots.push(slot(inside, *level)?);
        }
        Ok(slots)
    })?;
    let (slots, down): (Vec<(Slot, SpanId)>, Vec<bool>) = slots.into_iter().unzip();
    if let Some((_, at)) = slots.iter().find(|(slot, _)| *slot == Slot::Linear && !matches!(level, Level::Thread)) {
        return Err(
            Error::new(*at, format!("`{name}` does not have a linear coordinate")).help("the coordinates are `x`, `y` and `z`")
        );
    }
    let span = cursor.join(name.span, end);
    let other = slots.iter().find(|(slot, _)| *level == Level::Lane && *slot != Slot::X);
    if let Some((slot, span)) = other {
        let error = Error::new(*span, format!("`{}` is not a coordinate of lanes", format!("{slot:?}").to_lowercase()));
        return Err(error.help("the lanes of a subgroup have one coordinate: write `lane(x)`"));
    }
    Ok(Target { level: *level, slots, down, span })
}

/// Reads a coordinate. The flag is true if it counts downwards.
fn slot(cursor: &mut Cursor<'_>, level: Level) -> Result<((Slot, SpanId), bool), Error> {
    let name = cursor.name("`x`, `y` or `z`")?;
    let slot = match name.as_str() {
        "x" => Slot::X,
        "y" => Slot::Y,
        "z" => Slot::Z,
        "linear" => Slot::Linear,
        _ => {
            let help = "the coordinates are `x`, `y` and `z`, and `linear` for all of them, x fastest";
            return Err(Error::new(name.span, format!("unknown coordinate `{name}`")).help(help));
        }
    };
    let down = cursor.eat_word("down");
    if let Some(span) = down.filter(|_| level != Level::Workgroup) {
        let error = Error::new(span, "only workgroups are counted downwards");
        return Err(error.help("the invocations of a workgroup run in parallel, without an order: leave `down` out"));
    }
    Ok(((slot, name.span), down.is_some()))
}

/// Reads `by: tree`, after the comma.
pub(super) fn by(cursor: &mut Cursor<'_>) -> Result<By, Error> {
    strategy(cursor, &STRATEGIES, "`subgroup`, `tree` or `atomic`")
}

/// Reads `by: matrix`, after the comma. These strategies reduce along the rows of matrices.
pub(super) fn by_rows(cursor: &mut Cursor<'_>) -> Result<By, Error> {
    strategy(cursor, &STRATEGIES_OF_ROWS, "`matrix` or `shared`")
}

fn strategy(cursor: &mut Cursor<'_>, strategies: &[(&'static str, How)], what: &str) -> Result<By, Error> {
    let words = || strategies.iter().map(|(word, _)| *word);
    cursor.expect_word("by")?;
    cursor.expect(":")?;
    let name = cursor.name(what)?;
    match strategies.iter().find(|(word, _)| *word == name.as_str()) {
        Some((_, how)) => Ok(By { how: *how, span: name.span }),
        None => {
            let help = did_you_mean(&name.text, words()).unwrap_or_else(|| format!("the strategies are {}", list(words())));
            Err(Error::new(name.span, format!("`{name}` is not a strategy of a reduction")).help(help))
        }
    }
}
