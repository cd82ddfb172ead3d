//! The arguments of `vectorize`.

use super::DirectiveKind;
use crate::diag::Error;
use crate::syntax::{Cursor, expr};

pub(super) fn vectorize(cursor: &mut Cursor<'_>) -> Result<DirectiveKind, Error> {
    let axis = cursor.name("an axis")?;
    cursor.expect(",")?;
    let lanes = expr::arithmetic(cursor)?;
    let mut scalar = false;
    if cursor.eat(",").is_some() && !cursor.is_empty() {
        cursor.expect_word("unaligned")?;
        cursor.expect(":")?;
        if cursor.eat_word("scalar").is_none() {
            return Err(cursor
                .expected("`scalar`")
                .help("`unaligned: scalar` reads and writes lane by lane where alignment is not proved"));
        }
        scalar = true;
    }
    Ok(DirectiveKind::Vectorize { axis, lanes, scalar })
}
