//! Directives as text, and changes of the text: another factor, exchanged letters, an added argument. The unchanged parts keep the
//! user's own text.

use super::{Advice, Look};
use tilewright_dsl::diag::SpanId;
use tilewright_dsl::nest::{AxisDef, AxisId, Fate};
use tilewright_dsl::syntax::schedule::Item;

/// Finds the numbers that follow a name and a colon, and returns the names and the numbers' ranges.
fn numbers(text: &str) -> Vec<(&str, std::ops::Range<usize>)> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (colon, _) in text.match_indices(':') {
        let before = text[..colon].trim_end();
        let name = before.rfind(|c| !is_name(c)).map_or(before, |at| &before[at + 1..]);
        let rest = &text[colon + 1..];
        let start = colon + 1 + (rest.len() - rest.trim_start().len());
        let end = start + text[start..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - start);
        if start < end && !name.is_empty() {
            found.push((name, start..end));
        }
    }
    found
}

/// Returns the number that follows a name.
pub(super) fn number(text: &str, name: &str) -> Option<i64> {
    let (_, at) = numbers(text).into_iter().find(|(found, _)| *found == name)?;
    text[at].parse().ok()
}

/// Replaces the number that follows a name.
pub(super) fn with_number(text: &str, name: &str, number: i64) -> Option<String> {
    let (_, at) = numbers(text).into_iter().find(|(found, _)| *found == name)?;
    Some(format!("{}{number}{}", &text[..at.start], &text[at.end..]))
}

/// Halves the largest factor of the text, if that is even.
pub(super) fn halved(text: &str) -> Option<String> {
    let factors = numbers(text).into_iter().filter_map(|(_, at)| Some((text[at.clone()].parse::<i64>().ok()?, at)));
    // The first of several equal factors is halved.
    let (largest, at) = factors.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
    (largest > 1 && largest % 2 == 0).then(|| format!("{}{}{}", &text[..at.start], largest / 2, &text[at.end..]))
}

/// Sets an argument: replaces its value, or adds the argument.
pub(super) fn with_argument(text: &str, name: &str, number: i64) -> Option<String> {
    with_number(text, name, number).or_else(|| {
        let end = text.rfind(')')?;
        Some(format!("{}, {name}: {number}{}", text[..end].trim_end(), &text[end..]))
    })
}

/// Exchanges two of the letters of `thread(y, x)`.
pub(super) fn exchanged(text: &str, now: usize, then: usize) -> Option<String> {
    let start = text.find("thread(")? + "thread(".len();
    let end = start + text[start..].find(')')?;
    let mut letters: Vec<&str> = text[start..end].split(',').map(str::trim).collect();
    if now >= letters.len() || then >= letters.len() {
        return None;
    }
    letters.swap(now, then);
    Some(format!("{}{}{}", &text[..start], letters.join(", "), &text[end..]))
}

/// Returns the axes that a directive names before its `=>`, in order.
pub(super) fn axes(text: &str) -> Vec<&str> {
    let Some(start) = text.find('(') else { return Vec::new() };
    let end = text[start..].find(['=', ')']).map_or(text.len(), |n| start + n);
    text[start + 1..end].split(',').map(|part| part.split(':').next().unwrap_or(part).trim()).collect()
}

impl Look<'_> {
    /// Returns all directives and statements of the schedule.
    pub(super) fn directives(&self) -> Vec<SpanId> {
        let of = |item: &Item| match item {
            Item::Directive(directive) => vec![directive.span],
            Item::Statement(statement) => vec![statement.span],
            Item::Block { directives, .. } => directives.iter().map(|d| d.span).collect(),
        };
        self.subject.schedule.items.iter().flat_map(of).collect()
    }

    /// Extends an advice by the replacement of a directive, if there is one.
    pub(super) fn written(&self, advice: Advice, span: SpanId, new: Option<String>) -> Advice {
        match new {
            Some(new) => advice.or(format!("write `{new};`"), self.edit(span, new)),
            None => advice,
        }
    }

    /// Returns the first directive whose text satisfies a predicate.
    pub(super) fn directive(&self, is: impl Fn(&str) -> bool) -> Option<(SpanId, String)> {
        let texts = self.directives().into_iter().filter_map(|span| Some((span, self.subject.spans.source(span)?)));
        texts.into_iter().find(|(_, text)| is(text))
    }

    /// Returns an axis's name as the user wrote it.
    pub(super) fn user_name(&self, axis: AxisId) -> &str {
        self.nest.axes[axis].name.trim_end_matches('\'')
    }

    /// Returns the axis whose directive has the factor that determines an axis's extent. For the outermost part of a split of
    /// another split's part, this is the axis that was split.
    pub(super) fn factor_of(&self, axis: AxisId) -> AxisId {
        match &self.nest.axes[axis].def {
            AxisDef::Part { of, part: 0 } => match &self.nest.axes[*of].fate {
                Fate::Split(_) => self.factor_of(*of),
                _ => axis,
            },
            _ => axis,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{axes, exchanged, halved, with_argument, with_number};

    #[test]
    fn texts_are_changed_in_place() {
        let tile = "tile(i: 8, j : 128) => workgroup(y, x)";
        assert_eq!(halved(tile).as_deref(), Some("tile(i: 8, j : 64) => workgroup(y, x)"));
        assert_eq!(halved("tile(i: 5)"), None);
        assert_eq!(with_number(tile, "i", 16).as_deref(), Some("tile(i: 16, j : 128) => workgroup(y, x)"));
        assert_eq!(with_number(tile, "k", 16), None);
        assert_eq!(with_argument("promote(a => s, at: k)", "row_pad", 4).as_deref(), Some("promote(a => s, at: k, row_pad: 4)"));
        assert_eq!(with_argument("promote(a, row_pad: 1, at: k)", "row_pad", 4).as_deref(), Some("promote(a, row_pad: 4, at: k)"));
        assert_eq!(exchanged("distribute(i, j => thread(x, y))", 0, 1).as_deref(), Some("distribute(i, j => thread(y, x))"));
        assert_eq!(exchanged("distribute(i => lane(x))", 0, 1), None);
        assert_eq!((axes(tile), axes("distribute(i, j => thread(x, y))")), (vec!["i", "j"], vec!["i", "j"]));
    }
}
