//! Several values: `(x, y)`, a block or an `if` that ends with them, or a reduction whose state has several components.
//!
//! The right side of a definition of several tensors, and the parts of `reduce`, are read here. Each value becomes an expression of its own,
//! with the `let`s and conditions around it.

use super::{Block, Expr, ExprKind, Let, Reduce};
use crate::diag::{Error, SpanId};
use crate::syntax::{Cursor, Name};
use proc_macro2::Delimiter;

/// The most components of a state. It is limited, because each has registers in every invocation.
const COMPONENTS: usize = 8;

/// Reads one value, or several.
pub(in crate::syntax) fn values(cursor: &mut Cursor<'_>) -> Result<Vec<Expr>, Error> {
    if is_several(cursor) { tuple(cursor) } else { super::expr(cursor).map(apart) }
}

/// Returns one expression for each component of a reduction, or the expression itself.
fn apart(value: Expr) -> Vec<Expr> {
    let span = value.span;
    match value.kind {
        ExprKind::Reduce(reduce) if reduce.items.len() > 1 && reduce.component.is_none() => {
            let of = |n| Expr { kind: ExprKind::Reduce(Reduce { component: Some(n), ..reduce.clone() }), span };
            (0..reduce.items.len()).map(of).collect()
        }
        ExprKind::Block(Block { lets, value, span }) => {
            let each = apart(*value).into_iter();
            each.map(|value| Expr { kind: ExprKind::Block(Block { lets: lets.clone(), value: value.into(), span }), span })
                .collect()
        }
        kind => vec![Expr { kind, span }],
    }
}

/// True if the next value is a list in parentheses, or a block or an `if` that ends with one.
fn is_several(cursor: &mut Cursor<'_>) -> bool {
    let found = cursor.ahead(|c| {
        if c.peek_word("if") {
            c.skip_to_group(Delimiter::Brace);
        }
        if c.peek_group(Delimiter::Brace) {
            return Ok(c
                .inside(Delimiter::Brace, |c| {
                    while c.peek_word("let") {
                        c.skip_to(&[";"]);
                        c.eat(";");
                    }
                    let found = is_several(c);
                    c.skip_all();
                    Ok(found)
                })?
                .0);
        }
        let (found, _) = c.inside(Delimiter::Parenthesis, |c| {
            c.skip_to(&[","]);
            let found = c.peek(",");
            c.skip_all();
            Ok(found)
        })?;
        Ok(found)
    });
    found == Some(true)
}

/// Reads several values.
fn tuple(cursor: &mut Cursor<'_>) -> Result<Vec<Expr>, Error> {
    if cursor.peek_word("if") {
        return cursor.deeper(choice);
    }
    if cursor.peek_group(Delimiter::Brace) {
        return cursor.deeper(block).map(|(values, _)| values);
    }
    let expected = cursor.expected("`(`").note("several values are in parentheses: `(x, y)`");
    if !cursor.peek_group(Delimiter::Parenthesis) { Err(expected) } else { Ok(cursor.list(Delimiter::Parenthesis, super::expr)?.0) }
}

/// Reads a block that ends with several values, and returns its place, too. Each value has the names of the block.
fn block(cursor: &mut Cursor<'_>) -> Result<(Vec<Expr>, SpanId), Error> {
    let read = |c: &mut Cursor<'_>| Ok((super::lets(c)?, if is_several(c) { tuple(c)? } else { apart(super::expr(c)?) }));
    let ((lets, values), span) = cursor.inside(Delimiter::Brace, read)?;
    let inside = |value: Expr| {
        let place = value.span;
        Expr { kind: ExprKind::Block(Block { lets: lets.clone(), value: value.into(), span }), span: place }
    };
    Ok((values.into_iter().map(inside).collect(), span))
}

/// Reads `if c { (x, y) } else { (z, w) }`.
fn choice(cursor: &mut Cursor<'_>) -> Result<Vec<Expr>, Error> {
    let start = cursor.expect_word("if")?;
    let cond = super::expr(cursor)?;
    let (yes, place) = block(cursor)?;
    if cursor.eat_word("else").is_none() {
        return Err(cursor.expected("`else`").note("an `if` is a value, so it needs both branches"));
    }
    let at = cursor.here();
    let no = tuple(cursor)?;
    agree(&no, yes.len(), at, "this branch")?;
    let end = cursor.join(start, no.last().map_or(at, |last| last.span));
    let branch = |value: Expr, span| Block { lets: Vec::new(), value: value.into(), span };
    let one = |(then, other): (Expr, Expr)| {
        let (then, other) = (branch(then, place), branch(other, at));
        Expr { kind: ExprKind::If { cond: cond.clone().into(), then, other }, span: end }
    };
    Ok(yes.into_iter().zip(no).map(one).collect())
}

/// Checks that the state of a reduction does not have too many components.
pub(super) fn components(items: &[Expr], place: SpanId) -> Result<(), Error> {
    if items.len() <= COMPONENTS {
        return Ok(());
    }
    let error = Error::new(place, format!("the state of this reduction has {} components", items.len()));
    Err(error.help(format!("the maximum is {COMPONENTS}, because each invocation has all of them in registers")))
}

/// Checks that a part of `reduce` or a branch has as many values as the item or the first branch.
pub(super) fn agree(values: &[Expr], count: usize, place: SpanId, what: &str) -> Result<(), Error> {
    if values.len() == count {
        return Ok(());
    }
    let plural = |n: usize| if n == 1 { "1 value".to_owned() } else { format!("{n} values") };
    let error = Error::new(place, format!("{what} has {}, not {}", plural(values.len()), plural(count)));
    let all = vec!["…"; count].join(", ");
    Err(error.help(if count == 1 { "write one value, without parentheses".to_owned() } else { format!("write `({all})`") }))
}

/// Reads `|a, b|`, or `|(a, n), (b, m)|` for a state of several components.
pub(super) fn operands(cursor: &mut Cursor<'_>, count: usize) -> Result<[Vec<Name>; 2], Error> {
    let example = match count {
        1 => "|a, b| …".to_owned(),
        _ => {
            let names = |letter: char| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>().join(", ");
            format!("|({}), ({})| …", names('a'), names('b'))
        }
    };
    let help = |error: Error| error.help(format!("write `by {example}`"));
    if cursor.eat("|").is_none() {
        return Err(help(cursor.expected("`|`").note("a combiner is a closure of two states")));
    }
    let operand = |cursor: &mut Cursor<'_>| {
        let place = cursor.here();
        let names = match cursor.peek_group(Delimiter::Parenthesis) {
            true => cursor.list(Delimiter::Parenthesis, |c| c.name("a component's name"))?.0,
            false => vec![cursor.name("an operand of the combiner")?],
        };
        if names.len() == count {
            return Ok(names);
        }
        Err(help(Error::new(place, format!("the state has {count} components, and this operand names {}", names.len()))))
    };
    let first = operand(cursor)?;
    cursor.expect(",")?;
    let second = operand(cursor)?;
    cursor.eat(",");
    cursor.expect("|")?;
    Ok([first, second])
}

/// Reads `(a, b) = reduce(…`, up to the ranges.
pub(super) fn names_of_reduction(cursor: &mut Cursor<'_>) -> Result<Vec<Name>, Error> {
    let (names, _) = cursor.list(Delimiter::Parenthesis, |c| c.name("a name"))?;
    cursor.expect("=")?;
    if !cursor.peek_word("reduce") || !cursor.peek_ranges(1) {
        return Err(cursor.expected("`reduce`"));
    }
    Ok(names)
}

/// Reads `(a, b) = reduce(…) …;`.
pub(super) fn lets_of_reduction(cursor: &mut Cursor<'_>) -> Result<Vec<Let>, Error> {
    let place = cursor.here();
    let names = names_of_reduction(cursor)?;
    let values = values(cursor)?;
    cursor.expect(";")?;
    if names.len() != values.len() {
        let error = Error::new(place, format!("the state has {} components, and there are {} names", values.len(), names.len()));
        return Err(error.help("give each component a name, in the order of the item"));
    }
    Ok(names.into_iter().zip(values).map(|(name, value)| Let { name, dtype: None, value }).collect())
}
