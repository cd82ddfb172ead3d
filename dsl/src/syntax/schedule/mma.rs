//! The arguments of `mma`.

use super::{DirectiveKind, Shape};
use crate::diag::Error;
use crate::syntax::{Cursor, expr};

/// `i, j, k, 16 x 16 x 16`
pub(super) fn mma(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let whole = |error: Error| error.help("write three axes and a shape: `mma(i, j, k, 16 x 16 x 16)`");
    let mut axis = |what| {
        let name = cursor.name(what).map_err(whole)?;
        cursor.expect(",").map(|_| name).map_err(whole)
    };
    let axes = [axis("the axis of rows")?, axis("the axis of columns")?, axis("the reduction's axis")?];
    Ok(DirectiveKind::Mma { axes, shape: Box::new(shape(cursor)?) })
}

/// `M x N x K`
fn shape(cursor: &mut Cursor<'_>) -> Result<Shape, Error> {
    let start = cursor.here();
    let spaced = |error: Error| error.help("write M x N x K with spaces: `16 x 16 x 16`");
    let m = expr::arithmetic(cursor)?;
    if let expr::ExprKind::Int { suffix: Some(_), .. } = m.kind {
        return Err(spaced(Error::new(start, "expected a number")));
    }
    cursor.expect_word("x").map_err(spaced)?;
    let n = expr::arithmetic(cursor)?;
    cursor.expect_word("x").map_err(spaced)?;
    let k = expr::arithmetic(cursor)?;
    let span = cursor.join(start, k.span);
    Ok(Shape { sides: [m, n, k], span })
}
