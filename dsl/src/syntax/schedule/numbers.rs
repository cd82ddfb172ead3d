//! Numbers of a schedule, `NAME<R = 32, D = R * 2>`, and their values where others apply it, `apply NAME<R = 64>`.
//!
//! A number stands for its value wherever its name is written after the schedule's name. Names are replaced before the rest is parsed, so
//! that a number can be in every place in which a literal can be. Its default can use the numbers before it. A name is in capitals,
//! because the names of axes and stages, and keywords, are not.

use super::head;
use crate::diag::{Error, did_you_mean, list};
use crate::syntax::expr;
use crate::syntax::replaced::{is_equals, replaced};
use crate::syntax::{Cursor, Name};
use proc_macro2::{TokenStream, TokenTree};

/// A number that a schedule declares, with its value.
pub(super) struct Number {
    /// The name.
    pub(super) name: Name,
    /// The value: the default, or the one that is given where the schedule is applied.
    value: TokenStream,
}

/// `R = 64`: a value for a number of a schedule that is applied.
pub(super) struct Given {
    /// The number.
    pub(super) name: Name,
    /// The value.
    pub(super) value: TokenStream,
}

/// Reads `<R = 32, D = R * 2>`, if it comes next.
pub(super) fn declared(cursor: &mut Cursor<'_>) -> Result<Vec<Number>, Error> {
    let mut numbers: Vec<Number> = Vec::new();
    for Given { name, value } in arguments(cursor)? {
        if name.text.contains(char::is_lowercase) {
            let help = format!("write `{}`", name.text.to_uppercase());
            return Err(Error::new(name.span, "the name of a number is written in capitals").help(help));
        }
        if numbers.iter().any(|number| number.name.text == name.text) {
            return Err(Error::new(name.span, format!("the number `{name}` is declared twice")));
        }
        numbers.push(Number { name, value });
    }
    Ok(numbers)
}

/// Reads `<R = 64, D = B * 2>`, if it comes next.
pub(super) fn arguments(cursor: &mut Cursor<'_>) -> Result<Vec<Given>, Error> {
    let value = |cursor: &mut Cursor<'_>, name: &Name| {
        cursor.expect("=").map_err(|error| error.help(format!("a number has a value: `{name} = 64`")))?;
        Ok(cursor.tokens_of(expr::arithmetic)?.0)
    };
    let found = head::named(cursor, "a number's name", value)?;
    Ok(found.into_iter().map(|(name, value)| Given { name, value }).collect())
}

/// Replaces the defaults of a schedule's numbers by the given values. `of` is the schedule.
pub(super) fn given(of: &Name, mut numbers: Vec<Number>, given: Vec<Given>) -> Result<Vec<Number>, Error> {
    let mut seen: Vec<String> = Vec::new();
    for Given { name, value } in given {
        let Some(number) = numbers.iter_mut().find(|number| number.name.text == name.text) else {
            let names = || numbers.iter().map(|number| number.name.as_str());
            let help = did_you_mean(&name.text, names()).unwrap_or_else(|| match numbers.is_empty() {
                true => "it has no numbers".to_owned(),
                false => format!("its numbers are {}", list(names())),
            });
            return Err(Error::new(name.span, format!("`{of}` does not have the number `{name}`")).help(help));
        };
        if seen.contains(&name.text) {
            return Err(Error::new(name.span, format!("`{name}` is given twice")));
        }
        number.value = value;
        seen.push(name.text);
    }
    Ok(numbers)
}

/// Checks that each number is written after the schedule's name, or in the value of a later number.
pub(super) fn check_used(numbers: &[Number], rest: TokenStream) -> Result<(), Error> {
    for (n, number) in numbers.iter().enumerate() {
        let later = numbers[n + 1..].iter().map(|later| later.value.clone());
        if !later.chain([rest.clone()]).any(|tokens| names(tokens, &number.name.text)) {
            let error = Error::new(number.name.span, format!("the number `{}` is not used", number.name));
            return Err(error.help("remove it, or write its name in place of a literal"));
        }
    }
    Ok(())
}

/// True if a number's name is among tokens.
fn names(tokens: TokenStream, number: &str) -> bool {
    let mut trees = tokens.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let is_named = match tree {
            TokenTree::Ident(name) => name == number && !is_equals(trees.peek()),
            TokenTree::Group(group) => names(group.stream(), number),
            _ => false,
        };
        if is_named {
            return true;
        }
    }
    false
}

/// Returns the tokens with the values of numbers instead of their names.
pub(super) fn valued(tokens: TokenStream, numbers: &[Number]) -> TokenStream {
    let mut values: Vec<(&str, TokenStream)> = Vec::new();
    for number in numbers {
        let value = replaced(number.value.clone(), &values);
        values.push((number.name.as_str(), value));
    }
    if values.is_empty() { tokens } else { replaced(tokens, &values) }
}
