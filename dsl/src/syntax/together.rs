//! Definitions of several tensors at once: `(a[i], b[i]) = (x, y);`.
//!
//! Each tensor gets a definition of its own here, and [`Define::joined`] says that it belongs to the one before. Names that a block gives to
//! values, `= { let t = …; (x, y) };`, are part of each definition.

use super::Cursor;
use super::expr::{self, Block, Expr, ExprKind, Let};
use super::families;
use super::kernel::{Define, Statement};
use crate::diag::{Error, SpanId};
use proc_macro2::Delimiter;

/// The left side of one definition: the tensor, the indices, and their place.
type Left = (super::Name, Vec<Expr>, SpanId);

/// True if a definition of several tensors comes next.
pub(super) fn is_next(cursor: &mut Cursor<'_>) -> bool {
    cursor.peek_group(Delimiter::Parenthesis) && cursor.ahead(|c| c.list(Delimiter::Parenthesis, left)).is_some()
}

/// Reads the definitions.
pub(super) fn definitions(cursor: &mut Cursor<'_>) -> Result<Vec<Statement>, Error> {
    let (lefts, place) = cursor.list(Delimiter::Parenthesis, left)?;
    cursor.expect("=")?;
    let (lets, values) = values(cursor)?;
    cursor.expect(";")?;
    let Some((first, axes, _)) = lefts.first().cloned() else {
        return Err(Error::new(place, "the left side names no tensor").help("write `(a[i], b[i]) = (x, y);`"));
    };
    if lefts.len() != values.len() {
        let error =
            Error::new(place, format!("the left side has {} tensors, and the right side {} values", lefts.len(), values.len()));
        return Err(error.help("write one value for each tensor, in the same order"));
    }
    let texts = |index: &[Expr]| index.iter().map(Expr::short).collect::<Vec<_>>();
    let define = |(n, ((name, index, span), value)): (usize, (Left, Expr))| {
        if texts(&index) != texts(&axes) {
            let error = Error::new(span, format!("`{name}` is defined with `{first}`, and has other axes"));
            let error = error.note("tensors that are defined together have the same axes, in the same order");
            return Err(error.help(format!("write `{name}[{}]`, or a definition of its own", texts(&axes).join(", "))));
        }
        let value = inside(&lets, value);
        Ok(Statement::Define(Define { name, index, ty: None, value, compound: None, joined: n > 0, span }))
    };
    lefts.into_iter().zip(values).enumerate().map(define).collect()
}

/// Reads `a[i]`.
fn left(cursor: &mut Cursor<'_>) -> Result<Left, Error> {
    let name = cursor.name("a tensor's name")?;
    let name = families::member(cursor, name)?;
    let (index, close) = cursor.list(Delimiter::Bracket, expr::expr)?;
    let span = cursor.join(name.span, close);
    Ok((name, index, span))
}

/// Reads the values: `(x, y)`, or a block that ends with them.
fn values(cursor: &mut Cursor<'_>) -> Result<(Vec<Let>, Vec<Expr>), Error> {
    if cursor.peek_group(Delimiter::Brace) {
        let read = |c: &mut Cursor<'_>| Ok((expr::lets(c)?, values(c)?));
        let ((mut lets, (more, found)), _) = cursor.inside(Delimiter::Brace, read)?;
        lets.extend(more);
        return Ok((lets, found));
    }
    if !cursor.peek_group(Delimiter::Parenthesis) {
        let error = cursor.expected("`(`").note("the left side names several tensors, so the right side has a value for each");
        return Err(error.help("write `(x, y)`, and choose inside: `(if c { x } else { z }, …)`"));
    }
    Ok((Vec::new(), cursor.list(Delimiter::Parenthesis, expr::expr)?.0))
}

/// Returns a value in a block that gives names to other values.
fn inside(lets: &[Let], value: Expr) -> Expr {
    if lets.is_empty() {
        return value;
    }
    let span = value.span;
    Expr { kind: ExprKind::Block(Block { lets: lets.to_vec(), value: value.into(), span }), span }
}
