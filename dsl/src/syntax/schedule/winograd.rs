//! `decompose_winograd(y => v, u, g, m: 4, store: f16, tolerance: 2e-3, points: [0, 1, -1, 2, -2])`.

use super::StatementKind;
use crate::diag::{Error, SpanId, did_you_mean};
use crate::syntax::expr::{self, Expr, ExprKind};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;
use tilewright_launch::DType;

/// The arguments of `decompose_winograd`.
#[derive(Clone, Debug, PartialEq)]
pub struct Winograd {
    /// The convolution.
    pub result: Name,
    /// The names for the stages of transformed inputs, of transformed filters, and of their products.
    pub stages: [Name; 3],
    /// The number of results of a tile in each dimension.
    pub m: Expr,
    /// The type of transformed inputs and filters, if it differs from the type of the sum.
    pub store: Option<(DType, SpanId)>,
    /// The relative error that is allowed.
    pub tolerance: Option<(f64, SpanId)>,
    /// The finite points of the interpolation.
    pub points: Option<(Vec<Expr>, SpanId)>,
}

const KEYS: [&str; 4] = ["m", "store", "tolerance", "points"];
const FORM: &str = "it is written `decompose_winograd(y => v, u, g, m: 4, tolerance: 2e-6)`: the convolution; names for the transformed \
    inputs, the transformed filters and their products; the results of a tile; the relative error that is allowed";

pub(super) fn decompose_winograd(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (winograd, end) = cursor.inside(Delimiter::Parenthesis, arguments).map_err(form)?;
    Ok((StatementKind::Winograd(winograd), end))
}

/// Adds the syntax as help to an error without help.
fn form(error: Error) -> Error {
    if error.help.is_none() { error.help(FORM) } else { error }
}

fn arguments(cursor: &mut Cursor<'_>) -> Result<Winograd, Error> {
    let result = families::stage(cursor, "a convolution").map_err(form)?;
    cursor.expect("=>").map_err(form)?;
    let mut stage = |what: &str, first: bool| -> Result<Name, Error> {
        if !first {
            cursor.expect(",").map_err(form)?;
        }
        cursor.name(what).map_err(form)
    };
    let stages = [
        stage("a name for the transformed inputs", true)?,
        stage("a name for the transformed filters", false)?,
        stage("a name for their products", false)?,
    ];
    let (mut m, mut store, mut tolerance, mut points) = (None, None, None, None);
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        let key = cursor.name("`m`, `store`, `tolerance` or `points`").map_err(form)?;
        cursor.expect(":").map_err(form)?;
        let again = match key.as_str() {
            "m" => m.replace(expr::arithmetic(cursor)?).is_some(),
            "store" => store.replace(dtype(cursor)?).is_some(),
            "tolerance" => tolerance.replace(error(cursor)?).is_some(),
            "points" => points.replace(list(cursor)?).is_some(),
            _ => {
                let help =
                    did_you_mean(&key.text, KEYS).unwrap_or_else(|| "there are `m`, `store`, `tolerance` and `points`".into());
                return Err(Error::new(key.span, format!("`{key}` is not a key of `decompose_winograd`")).help(help));
            }
        };
        if again {
            return Err(Error::new(key.span, format!("`{key}` is given twice")).help("leave one of them out"));
        }
    }
    if !cursor.is_empty() {
        return Err(form(cursor.expected("`,`")));
    }
    let m = m.ok_or_else(|| {
        Error::new(result.span, "`decompose_winograd` needs `m`, the number of results of a tile in each dimension").help(FORM)
    })?;
    Ok(Winograd { result, stages, m, store, tolerance, points })
}

/// Reads `[0, 1, -1]`.
fn list(cursor: &mut Cursor<'_>) -> Result<(Vec<Expr>, SpanId), Error> {
    let list = cursor.list(Delimiter::Bracket, expr::arithmetic);
    list.map_err(|error| if error.help.is_none() { error.help("points are written `[0, 1, -1]`") } else { error })
}

fn dtype(cursor: &mut Cursor<'_>) -> Result<(DType, SpanId), Error> {
    let name = cursor.name("`f32` or `f16`")?;
    match DType::from_name(name.as_str()) {
        Some(dtype @ (DType::F32 | DType::F16)) => Ok((dtype, name.span)),
        _ => {
            Err(Error::new(name.span, format!("transformed tiles cannot be stored as `{name}`"))
                .help("`f32` and `f16` are possible"))
        }
    }
}

/// Reads a literal between 0 and 1.
fn error(cursor: &mut Cursor<'_>) -> Result<(f64, SpanId), Error> {
    let value = expr::arithmetic(cursor)?;
    let wrong = |what: &str| Error::new(value.span, what).help("write the relative error that is allowed, as `2e-6`");
    match value.kind {
        ExprKind::Float { value: tolerance, .. } if tolerance > 0.0 && tolerance < 1.0 => Ok((tolerance, value.span)),
        ExprKind::Float { .. } | ExprKind::Int { .. } | ExprKind::Neg(_) => Err(wrong("a tolerance is above 0 and below 1")),
        _ => Err(wrong("a tolerance is a literal")),
    }
}
