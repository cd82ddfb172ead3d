//! Families of stages: `for l in 1..8 { let down[l][y, x]: f32[H >> l, W >> l] = …; }`.
//!
//! A family is a list of intermediates, and its members have numbers. The parser unrolls loops over members: it reads the statements in
//! the braces once for each number, which replaces the loop's variable. After that, each member is a stage of its own, with a name like
//! `down[3]`. In schedules, [`of_members`](super::schedule::Schedule::of_members) replaces headers like `down[2..5]` by the members'
//! names.

mod chosen;

pub(crate) use chosen::is_selection;

use super::expr::{self, Expr, ExprKind};
use super::kernel::{Define, Statement, statement};
use super::replaced::replaced;
use super::{Cursor, Name, foreign, limits, together};
use crate::diag::Error;
use proc_macro2::{Delimiter, Literal, TokenStream, TokenTree};
use std::ops::Range;

/// The most members of a family. Their numbers are smaller than this.
const MEMBERS: i64 = 64;

/// Returns the name of a member.
fn member_name(family: &str, number: i64) -> String {
    format!("{family}[{number}]")
}

/// Returns the family of a member and its number: `down` and 3 for `down[3]`.
pub fn parts(member: &str) -> Option<(&str, i64)> {
    let (family, number) = member.strip_suffix(']')?.split_once('[')?;
    Some((family, number.parse().ok()?))
}

/// Returns a name that is an identifier: `down_3` for `down[3]`.
pub fn identifier(name: &str) -> String {
    parts(name).map_or_else(|| name.to_owned(), |(family, number)| format!("{family}_{number}"))
}

/// Returns a text in which names that derive from members' names are identifiers: `s_1_part` for `s[1]_part`.
pub(crate) fn with_identifiers(text: &str) -> String {
    let mut parts = text.split("]_");
    let mut found = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let number = found.len() - found.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let bracket = found.len() - number;
        if number > 0 && found[..bracket].ends_with('[') {
            found.replace_range(bracket - 1..bracket, "_");
        } else {
            found.push(']');
        }
        found = found + "_" + part;
    }
    found
}

/// True if a loop comes next whose braces define members of families.
pub(super) fn is_next(cursor: &Cursor<'_>) -> bool {
    cursor.peek_word("for") && cursor.braces_ahead().is_some_and(defines_members)
}

/// True if `let name[…][…]` is among tokens.
fn defines_members(tokens: TokenStream) -> bool {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let is_list = |tree: &TokenTree| matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
    let is_member =
        |name: &[TokenTree]| matches!(name, [TokenTree::Ident(_), member, axes, ..] if is_list(member) && is_list(axes));
    let is_let = |window: &[TokenTree]| matches!(window, [TokenTree::Ident(word), ..] if word == "let");
    trees.windows(4).any(|window| is_let(window) && is_member(&window[1..]))
        || trees.windows(2).filter(|window| is_let(window)).any(|window| match &window[1] {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                is_member(&group.stream().into_iter().collect::<Vec<_>>())
            }
            _ => false,
        })
        || trees.iter().any(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => defines_members(group.stream()),
            _ => false,
        })
}

/// Reads a loop over members. The flag is true if all statements could be read.
pub(super) fn unrolled(cursor: &mut Cursor<'_>) -> Result<(Vec<Statement>, bool), Error> {
    cursor.expect_word("for")?;
    let variable = cursor.name("a name for the members' number")?;
    cursor.expect_word("in")?;
    let numbers = range(cursor)?;
    let read = |inside: &mut Cursor<'_>| {
        let body = inside.rest();
        let mut found = Vec::new();
        for number in numbers {
            let value = TokenTree::Literal(Literal::i64_unsuffixed(number)).into();
            let tokens = replaced(body.clone(), &[(variable.as_str(), value)]);
            let before = inside.spans().last();
            let (statements, whole) = inside.other(tokens, |c| Ok(statements(c, &variable)))?;
            inside.spans().repeat(before, variable.span, format!("`{variable}` is {number} here"));
            found.extend(statements);
            if !whole {
                return Ok((found, false));
            }
            limits::turns(inside.spans().explanations(), variable.span)?;
        }
        Ok((found, true))
    };
    Ok(cursor.group(Delimiter::Brace, read)?.0.unwrap_or_default())
}

/// Reads the statements for one number.
fn statements(cursor: &mut Cursor<'_>, variable: &Name) -> (Vec<Statement>, bool) {
    let (mut found, mut whole) = (Vec::new(), true);
    while !cursor.is_empty() {
        match items(cursor, variable) {
            Ok((statements, all)) => {
                found.extend(statements);
                whole &= all;
            }
            Err(error) => {
                whole = false;
                cursor.report(error);
                cursor.skip_to(&[";"]);
                cursor.eat(";");
            }
        }
    }
    (found, whole)
}

/// Reads a loop or a definition within a loop.
fn items(cursor: &mut Cursor<'_>, variable: &Name) -> Result<(Vec<Statement>, bool), Error> {
    if cursor.peek_word("for") {
        return unrolled(cursor);
    }
    let at = cursor.here();
    if !cursor.peek_word("let") {
        return Err(Error::new(at, "a loop defines only members of families, by `let`"));
    }
    let read = if together::is_next(cursor) { together::definitions(cursor)? } else { vec![statement(cursor)?] };
    let is_member = |read: &&Statement| matches!(read, Statement::Define(Define { name, .. }) if parts(&name.text).is_some());
    let Some(other) = read.iter().find(|read| !is_member(read)) else { return Ok((read, true)) };
    let (name, help) = match other {
        Statement::Define(Define { name, .. }) | Statement::Const { name, .. } => {
            (name, format!("make it a family, `let {name}[{variable}][…]: …`, or define it before the loop"))
        }
        Statement::Let(bound) => {
            let name = &bound.name;
            (
                name,
                format!("define it in a member's value, `let t[{variable}][…]: … = {{ let {name} = …; … }};`, or before the loop"),
            )
        }
    };
    Err(Error::new(name.span, format!("`{name}` would be defined once for each `{variable}`")).help(help))
}

/// Reads `1..8` or `1..=7`.
fn range(cursor: &mut Cursor<'_>) -> Result<Range<i64>, Error> {
    let low = bound(cursor)?;
    let inclusive = cursor.eat("..=").is_some();
    if !inclusive {
        cursor.expect("..")?;
    }
    let at = cursor.here();
    let high = bound(cursor)? + i64::from(inclusive);
    if low < 0 || high > MEMBERS {
        let error = Error::new(at, format!("the members of a family have the numbers from 0 to {}", MEMBERS - 1));
        return Err(error.note(format!("this loop runs from {low} to {}", high - 1)));
    }
    Ok(low..high)
}

fn bound(cursor: &mut Cursor<'_>) -> Result<i64, Error> {
    let bound = expr::arithmetic(cursor)?;
    // A number of 32 bits plus 1 cannot overflow.
    number(&bound).and_then(|n| i32::try_from(n).ok()).map(i64::from).ok_or_else(|| {
        let error = Error::new(bound.span, "the bounds of a loop over members are numbers");
        error.note("each member is a stage, and a kernel has the same stages at all sizes")
    })
}

/// Returns the value of an expression of numbers.
fn number(expr: &Expr) -> Option<i64> {
    match &expr.kind {
        ExprKind::Int { value, suffix: None } => i64::try_from(*value).ok(),
        ExprKind::Neg(a) => number(a)?.checked_neg(),
        ExprKind::Binary(op, _, a, b) => op.exact(number(a)?, number(b)?),
        _ => None,
    }
}

/// Reads the number of a member after the family's name, in an expression or after `let`: `[l - 1]` of `down[l - 1][y, x]`. Without a second
/// list of indices, the name is not of a family.
pub(super) fn member(cursor: &mut Cursor<'_>, name: Name) -> Result<Name, Error> {
    if !cursor.peek_member() {
        return Ok(name);
    }
    let (index, close) = cursor.list(Delimiter::Bracket, expr::expr)?;
    let span = cursor.join(name.span, close);
    let [index @ Expr { span: at, .. }] = &index[..] else { return Err(foreign::two_lists(cursor.here(), &name, &index)) };
    match number(index) {
        Some(number) if (0..MEMBERS).contains(&number) => Ok(Name { text: member_name(&name.text, number), span }),
        Some(number) => {
            let error = Error::new(*at, format!("`{name}[{number}]` cannot be a member of a family"));
            Err(error.help(format!("members have the numbers from 0 to {}", MEMBERS - 1)))
        }
        None => Err(foreign::two_lists(cursor.here(), &name, std::slice::from_ref(index))),
    }
}

/// Reads the name of a stage or a tensor in a schedule: `blur`, or a member of a family, `down[3]`.
pub(super) fn stage(cursor: &mut Cursor<'_>, what: &str) -> Result<Name, Error> {
    let name = cursor.name(what)?;
    let one = |c: &mut Cursor<'_>| Ok(number(&c.inside(Delimiter::Bracket, expr::expr)?.0));
    let Some(Some(number)) = cursor.ahead(one) else { return Ok(name) };
    let (_, close) = cursor.inside(Delimiter::Bracket, expr::expr)?;
    Ok(Name { text: member_name(&name.text, number), span: cursor.join(name.span, close) })
}

/// Reads a name in the header of a block or in a list of stages: as [`stage`], or several members, `down[2..5]` and `down[..]`.
pub(super) fn stages(cursor: &mut Cursor<'_>, what: &str) -> Result<Name, Error> {
    let several = |c: &mut Cursor<'_>| {
        c.name(what)?;
        Ok(c.inside(Delimiter::Bracket, selection)?.0)
    };
    let Some(selection) = cursor.ahead(several) else {
        let name = stage(cursor, what)?;
        if cursor.peek_group(Delimiter::Bracket) {
            let error = Error::new(cursor.here(), "these are not the numbers of members");
            return Err(
                error.help(format!("a member of a family has a number, `{name}[2]`; several are `{name}[..]` or `{name}[1..3]`"))
            );
        }
        return Ok(name);
    };
    let name = cursor.name(what)?;
    let close = cursor.group(Delimiter::Bracket, |c| {
        c.skip_all();
        Ok(())
    })?;
    Ok(Name { text: format!("{name}[{selection}]"), span: cursor.join(name.span, close.1) })
}

/// Reads `..`, `2..`, `..5`, `2..5` or `2..=4`, and returns its text without `=`.
fn selection(cursor: &mut Cursor<'_>) -> Result<String, Error> {
    let side = |c: &mut Cursor<'_>| if c.is_empty() || c.peek("..") || c.peek("..=") { Ok(None) } else { bound(c).map(Some) };
    let low = side(cursor)?;
    let inclusive = cursor.eat("..=").is_some();
    if !inclusive {
        cursor.expect("..")?;
    }
    let high = side(cursor)?.map(|high| high + i64::from(inclusive));
    let text = |side: Option<i64>| side.map(|n| n.to_string()).unwrap_or_default();
    Ok(format!("{}..{}", text(low), text(high)))
}
