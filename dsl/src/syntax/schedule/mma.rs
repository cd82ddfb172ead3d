//! The arguments of `mma` and `fragment`.

use super::{DirectiveKind, Shape, target};
use crate::diag::{Error, SpanId};
use crate::syntax::expr::Expr;
use crate::syntax::{Cursor, expr};

/// Reads `i, j, k, 16 x 16 x 16`.
pub(super) fn mma(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let whole = |error: Error| error.help("write three axes and a shape: `mma(i, j, k, 16 x 16 x 16)`");
    let mut axis = |what| {
        let name = cursor.name(what).map_err(whole)?;
        cursor.expect(",").map(|_| name).map_err(whole)
    };
    let axes = [axis("the axis of rows")?, axis("the axis of columns")?, axis("the reduction's axis")?];
    Ok(DirectiveKind::Mma { axes, shape: Box::new(shape(cursor)?) })
}

/// Reads `i, j, 16 x 8, by: matrix`.
pub(super) fn fragment(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let whole = |error: Error| error.help("write two axes and a shape: `fragment(i, j, 16 x 8)`");
    let mut axis = |what| {
        let name = cursor.name(what).map_err(whole)?;
        cursor.expect(",").map(|_| name).map_err(whole)
    };
    let axes = [axis("the axis of rows")?, axis("the axis of columns")?];
    let (sides, span) = sides(cursor, "M x N with spaces: `16 x 8`")?;
    let by = match cursor.eat(",") {
        Some(_) if !cursor.is_empty() => Some(target::by_rows(cursor)?),
        _ => None,
    };
    Ok(DirectiveKind::Fragment { axes, sides: Box::new(sides), by, span })
}

/// Reads `M x N x K`.
fn shape(cursor: &mut Cursor<'_>) -> Result<Shape, Error> {
    let (sides, span) = sides(cursor, "M x N x K with spaces: `16 x 16 x 16`")?;
    Ok(Shape { sides, span })
}

/// Reads numbers separated by `x`.
fn sides<const N: usize>(cursor: &mut Cursor<'_>, form: &str) -> Result<([Expr; N], SpanId), Error> {
    let start = cursor.here();
    let spaced = |error: Error| error.help(format!("write {form}"));
    let mut found = Vec::new();
    for n in 0..N {
        if n > 0 {
            cursor.expect_word("x").map_err(spaced)?;
        }
        let side = expr::arithmetic(cursor)?;
        // Rust's lexer reads `16x16` as a number with a suffix.
        if let expr::ExprKind::Int { suffix: Some(_), .. } = side.kind {
            return Err(spaced(Error::new(start, "expected a number")));
        }
        found.push(side);
    }
    let span = found.last().map_or(start, |last| cursor.join(start, last.span));
    let sides = found.try_into().map_err(|_| spaced(Error::new(start, "expected a shape")))?;
    Ok((sides, span))
}
