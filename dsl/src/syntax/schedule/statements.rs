//! Statements: directives about the whole variant, not about one stage's nest.
//!
//! This file has the trees and the parsers. Statements are written outside the stages' blocks.

use super::{Im2col, Online, StageClone, Winograd};
use crate::diag::{Error, SpanId, did_you_mean};
use crate::syntax::expr::{self, Expr, ExprKind};
use crate::syntax::{Cursor, Name, families};
use proc_macro2::Delimiter;

/// A directive about the whole variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// Its name in the table of directives.
    pub called: &'static str,
    /// The kind, with the arguments.
    pub kind: StatementKind,
    /// The place of its name.
    pub name: SpanId,
    /// The place from its name to its end.
    pub span: SpanId,
}

/// The statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `pack(w[o, c] => [o, c / 4, c % 4], when: caller, fill: 0.0)`.
    Pack(Pack),
    /// `pin(K, N)`.
    Pin(Vec<Name>),
    /// `emit(readonly: no)`: whether the SPIR-V marks the buffers that a dispatch only reads.
    Emit(bool),
    /// `precompute(s, t)`.
    Precompute(Vec<Name>),
    /// `strided(x, y[0, 2])`.
    Strided(Vec<StridedTensor>),
    /// `specialize(K % 4 == 0, N % 4 == 0)`.
    Specialize(Vec<Expr>),
    /// `tune B in [64, 128] = 64`.
    Tune(Tune),
    /// `clone(g => g_y, reader: y)`.
    Clone(StageClone),
    /// `decompose_im2col(y => cols, gemm)`.
    Im2col(Im2col),
    /// `decompose_winograd(y => v, u, g, m: 4, tolerance: 2e-6)`.
    Winograd(Winograd),
    /// `decompose_online(m, l, o => m_b, l_b, o_b, block: 64)`.
    Online(Online),
}

/// `tune B in [64, 128] = 64`: a constant with candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Tune {
    /// Its name.
    pub name: Name,
    /// The possible values.
    pub candidates: Vec<Expr>,
    /// The value if the caller chooses none.
    pub default: Expr,
}

/// `y[0, 2]`: a tensor and the axes whose strides are free.
#[derive(Clone, Debug, PartialEq)]
pub struct StridedTensor {
    /// The tensor.
    pub tensor: Name,
    /// The axes and their places. `None` for all but the innermost.
    pub axes: Option<Vec<(u64, SpanId)>>,
}

/// `pack(w[o, c] => [o, c / 4, c % 4], when: caller, fill: 0.0)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    /// The tensor that is packed.
    pub tensor: Name,
    /// Names for its indices.
    pub axes: Vec<Name>,
    /// The dimensions in memory, outermost first.
    pub digits: Vec<Expr>,
    /// The time of packing, and the place of its keyword.
    pub when: Option<(When, SpanId)>,
    /// The value of memory that holds no element.
    pub fill: Option<Expr>,
}

/// The time at which a tensor is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// By the caller: the tensor is packed already.
    Caller,
    /// Once, before the launches.
    Prepare,
    /// At each launch.
    Dispatch,
}

impl StatementKind {
    /// True if it rewrites the algebra, before nests are built.
    pub fn rewrites(&self) -> bool {
        matches!(self, StatementKind::Clone(_) | StatementKind::Pack(_) | StatementKind::Precompute(_) | StatementKind::Online(_))
            || self.decomposes().is_some()
    }

    /// Returns the stage that other stages replace.
    pub fn decomposes(&self) -> Option<&Name> {
        match self {
            StatementKind::Im2col(im2col) => Some(&im2col.result),
            StatementKind::Winograd(winograd) => Some(&winograd.result),
            _ => None,
        }
    }
}

impl Statement {
    /// True if the place is in this statement. (Ids increase in the order of reading, so that a comparison decides.)
    pub fn holds(&self, span: SpanId) -> bool {
        (self.name..=self.span).contains(&span)
    }
}

pub(super) fn pack(cursor: &mut Cursor<'_>) -> Result<StatementKind, Error> {
    let tensor = families::stage(cursor, "a tensor")?;
    let (axes, _) = cursor.list(Delimiter::Bracket, |c| c.name("a name for an index"))?;
    cursor.expect("=>")?;
    let (digits, _) = cursor.list(Delimiter::Bracket, expr::arithmetic)?;
    let mut pack = Pack { tensor, axes, digits, when: None, fill: None };
    while cursor.eat(",").is_some() && !cursor.is_empty() {
        let key = cursor.name("`when` or `fill`")?;
        cursor.expect(":")?;
        match key.as_str() {
            "when" if pack.when.is_none() => pack.when = Some(when(cursor)?),
            "fill" if pack.fill.is_none() => pack.fill = Some(expr::arithmetic(cursor)?),
            "when" | "fill" => return Err(Error::new(key.span, format!("`{key}` is given twice"))),
            _ => {
                let help = did_you_mean(&key.text, ["when", "fill"]).unwrap_or_else(|| "there are `when` and `fill`".into());
                return Err(Error::new(key.span, format!("`{key}` is not a key of `pack`")).help(help));
            }
        }
    }
    Ok(StatementKind::Pack(pack))
}

fn when(cursor: &mut Cursor<'_>) -> Result<(When, SpanId), Error> {
    let word = cursor.name("`caller`, `prepare` or `dispatch`")?;
    let when = match word.as_str() {
        "caller" => When::Caller,
        "prepare" => When::Prepare,
        "dispatch" => When::Dispatch,
        _ => {
            let words = ["caller", "prepare", "dispatch"];
            let help = did_you_mean(&word.text, words).unwrap_or_else(|| "it is `caller`, `prepare` or `dispatch`".into());
            return Err(Error::new(word.span, format!("a tensor cannot be packed `{word}`")).help(help));
        }
    };
    Ok((when, word.span))
}

pub(super) fn pin(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (names, end) = cursor.list(Delimiter::Parenthesis, |c| c.name("a dim"))?;
    if names.is_empty() {
        return Err(Error::new(end, "`pin` is given no dims").help("write `pin(K);`"));
    }
    Ok((StatementKind::Pin(names), end))
}

pub(super) fn emit(cursor: &mut Cursor<'_>) -> Result<StatementKind, Error> {
    let key = cursor.name("`readonly`")?;
    if key.as_str() != "readonly" {
        let help = did_you_mean(&key.text, ["readonly"]).unwrap_or_else(|| "there is `readonly`".into());
        return Err(Error::new(key.span, format!("`{key}` is not a key of `emit`")).help(help));
    }
    cursor.expect(":")?;
    let word = cursor.name("`yes` or `no`")?;
    match word.as_str() {
        "yes" => Ok(StatementKind::Emit(true)),
        "no" => Ok(StatementKind::Emit(false)),
        _ => Err(Error::new(word.span, format!("`readonly` cannot be `{word}`")).help("it is `yes` or `no`")),
    }
}

pub(super) fn precompute(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (names, end) = cursor.list(Delimiter::Parenthesis, |c| families::stages(c, "an intermediate"))?;
    if names.is_empty() {
        return Err(Error::new(end, "`precompute` is given no intermediate").help("write `precompute(s);`"));
    }
    Ok((StatementKind::Precompute(names), end))
}

pub(super) fn strided(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (tensors, end) = cursor.list(Delimiter::Parenthesis, |c| {
        let tensor = c.name("a tensor")?;
        let axes = if c.peek_group(Delimiter::Bracket) { Some(c.list(Delimiter::Bracket, axis)?) } else { None };
        match axes {
            Some((axes, end)) if axes.is_empty() => {
                Err(Error::new(end, format!("no axis of `{tensor}` is named")).help(format!("write `strided({tensor})`")))
            }
            axes => Ok(StridedTensor { tensor, axes: axes.map(|(axes, _)| axes) }),
        }
    })?;
    if tensors.is_empty() {
        return Err(Error::new(end, "`strided` is given no tensor").help("write `strided(x);`"));
    }
    Ok((StatementKind::Strided(tensors), end))
}

/// Reads an axis of a tensor, by its number.
fn axis(cursor: &mut Cursor<'_>) -> Result<(u64, SpanId), Error> {
    let axis = expr::arithmetic(cursor)?;
    match axis.kind {
        ExprKind::Int { value, suffix: None } => Ok((value, axis.span)),
        _ => Err(Error::new(axis.span, "the axes of a tensor are counted from 0").help("write a number: `strided(x[0])`")),
    }
}

pub(super) fn specialize(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (facts, end) = cursor.list(Delimiter::Parenthesis, expr::expr)?;
    if facts.is_empty() {
        return Err(Error::new(end, "`specialize` is given no facts").help("write `specialize(N % 4 == 0);`"));
    }
    Ok((StatementKind::Specialize(facts), end))
}

pub(super) fn tune(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    const FORM: &str = "a tuned constant is `tune B in [64, 128] = 64;`: its candidates, then its default";
    let read = |cursor: &mut Cursor<'_>| {
        let name = cursor.name("a name for the tuned constant")?;
        cursor.expect_word("in")?;
        let (candidates, _) = cursor.list(Delimiter::Bracket, expr::arithmetic)?;
        cursor.expect("=")?;
        let default = expr::arithmetic(cursor)?;
        let end = default.span;
        Ok((StatementKind::Tune(Tune { name, candidates, default }), end))
    };
    read(cursor).map_err(|e: Error| if e.help.is_none() { e.help(FORM) } else { e })
}

/// Returns the error of a statement inside a block.
pub(super) fn in_block(statement: &Statement) -> Error {
    let name = statement.called;
    Error::new(statement.span, format!("`{name}` applies to the whole variant, not to a stage"))
        .help("write it outside the stages' blocks")
}
