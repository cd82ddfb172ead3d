//! `decompose_im2col(y => cols, gemm)`.

use super::StatementKind;
use crate::diag::{Error, SpanId};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;

/// The arguments of `decompose_im2col`.
#[derive(Clone, Debug, PartialEq)]
pub struct Im2col {
    /// The convolution.
    pub result: Name,
    /// The names for the stage of columns, and for the stage of their product with the filter.
    pub stages: [Name; 2],
}

const FORM: &str = "it is written `decompose_im2col(y => cols, gemm)`: the convolution; names for its columns and for their product with the filter";

pub(super) fn decompose_im2col(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (im2col, end) = cursor.inside(Delimiter::Parenthesis, |c| arguments(c).map_err(form)).map_err(form)?;
    Ok((StatementKind::Im2col(im2col), end))
}

/// Adds the syntax as help to an error without help.
fn form(error: Error) -> Error {
    if error.help.is_none() { error.help(FORM) } else { error }
}

fn arguments(cursor: &mut Cursor<'_>) -> Result<Im2col, Error> {
    let result = families::stage(cursor, "a convolution")?;
    cursor.expect("=>")?;
    let columns = cursor.name("a name for the columns")?;
    cursor.expect(",")?;
    let product = cursor.name("a name for their product with the filter")?;
    cursor.eat(",");
    if !cursor.is_empty() {
        return Err(cursor.expected("the end"));
    }
    Ok(Im2col { result, stages: [columns, product] })
}
