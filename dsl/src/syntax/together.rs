//! Definitions of several tensors at once: `(a[i], b[i]) = (x, y);`, or `let (a[i], b[i]): (f32[N], i32[N]) = reduce(…) …;`.
//!
//! Each tensor gets a definition of its own here, and [`Define::joined`] says that it belongs to the one before.

use super::Cursor;
use super::expr::{self, Expr};
use super::families;
use super::kernel::{self, Define, Statement, Type};
use crate::diag::{Error, SpanId};
use proc_macro2::Delimiter;

/// The left side of one definition: the tensor, the indices, and their place.
type Left = (super::Name, Vec<Expr>, SpanId);

/// True if a definition of several tensors comes next.
pub(super) fn is_next(cursor: &mut Cursor<'_>) -> bool {
    let lefts = |c: &mut Cursor<'_>| {
        c.eat_word("let");
        c.list(Delimiter::Parenthesis, left)
    };
    cursor.ahead(lefts).is_some()
}

/// Reads the definitions.
pub(super) fn definitions(cursor: &mut Cursor<'_>) -> Result<Vec<Statement>, Error> {
    let is_let = cursor.eat_word("let").is_some();
    let (lefts, place) = cursor.list(Delimiter::Parenthesis, left)?;
    let Some((first, axes, _)) = lefts.first().cloned() else {
        return Err(Error::new(place, "the left side names no tensor").help("write `(a[i], b[i]) = (x, y);`"));
    };
    let types = if is_let { types(cursor, &lefts)? } else { vec![None; lefts.len()] };
    cursor.expect("=")?;
    let values = expr::values(cursor)?;
    cursor.expect(";")?;
    if lefts.len() != values.len() {
        let plural = if values.len() == 1 { "" } else { "s" };
        let what = format!("the left side has {} tensors, and the right side {} value{plural}", lefts.len(), values.len());
        let error = Error::new(place, what);
        return Err(error.help("write one value for each tensor, in the same order: `(a[i], b[i]) = (x, y);`"));
    }
    let texts = |index: &[Expr]| index.iter().map(Expr::short).collect::<Vec<_>>();
    let define = |(n, (((name, index, span), ty), value)): (usize, ((Left, Option<Type>), Expr))| {
        if texts(&index) != texts(&axes) {
            let error = Error::new(span, format!("`{name}` is defined with `{first}`, and has other axes"));
            let error = error.note("tensors that are defined together have the same axes, in the same order");
            return Err(error.help(format!("write `{name}[{}]`, or a definition of its own", texts(&axes).join(", "))));
        }
        Ok(Statement::Define(Define { name, index, ty, value, compound: None, joined: n > 0, span }))
    };
    lefts.into_iter().zip(types).zip(values).enumerate().map(define).collect()
}

/// Reads the types of intermediates, `: (f32[N], i32[N])`.
fn types(cursor: &mut Cursor<'_>, lefts: &[Left]) -> Result<Vec<Option<Type>>, Error> {
    let all = vec!["f32[…]"; lefts.len()].join(", ");
    if cursor.eat(":").is_none() {
        let error = cursor.expected("`:`").note("intermediates have dtypes and shapes");
        return Err(error.help(format!("write their types after the names: `let (…): ({all}) = …;`")));
    }
    let (types, place) = cursor.list(Delimiter::Parenthesis, kernel::ty)?;
    if types.len() != lefts.len() {
        let error = Error::new(place, format!("there are {} types for {} tensors", types.len(), lefts.len()));
        return Err(error.help(format!("write one for each: `({all})`")));
    }
    if let Some((ty, (name, ..))) = types.iter().zip(lefts).find(|(ty, _)| ty.shape.is_none()) {
        let error = Error::new(ty.span, format!("the tensor `{name}` needs a shape"));
        return Err(error.help(format!("write `{}[…]`, one size for each axis", ty.dtype)));
    }
    Ok(types.into_iter().map(Some).collect())
}

/// Reads `a[i]`.
fn left(cursor: &mut Cursor<'_>) -> Result<Left, Error> {
    let name = cursor.name("a tensor's name")?;
    let name = families::member(cursor, name)?;
    let (index, close) = cursor.list(Delimiter::Bracket, expr::expr)?;
    let span = cursor.join(name.span, close);
    Ok((name, index, span))
}
