//! Statements: what a schedule says of the whole variant, not of one stage's nest.
//!
//! The trees and the parsers. They stand beside directives, outside blocks.

use super::Item;
use crate::diag::{Error, SpanId};
use crate::syntax::expr::{self, Expr};
use crate::syntax::{Cursor, Name};
use proc_macro2::Delimiter;

/// The names of the statements.
pub(super) const STATEMENTS: [&str; 3] = ["pin", "specialize", "tune"];

/// What a schedule says of the whole variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it says.
    pub kind: StatementKind,
    /// Its name.
    pub name: SpanId,
    /// From its name to its end.
    pub span: SpanId,
}

/// The statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `pin(K, N)`.
    Pin(Vec<Name>),
    /// `specialize(K % 4 == 0, N % 4 == 0)`.
    Specialize(Vec<Expr>),
    /// `tune B in [64, 128] = 64`.
    Tune(Tune),
}

/// `tune B in [64, 128] = 64`: a constant with candidates.
#[derive(Clone, Debug, PartialEq)]
pub struct Tune {
    /// Its name.
    pub name: Name,
    /// What it can be.
    pub candidates: Vec<Expr>,
    /// What it is where nothing else is said.
    pub default: Expr,
}

impl StatementKind {
    /// The name it begins with.
    pub fn name(&self) -> &'static str {
        match self {
            StatementKind::Pin(_) => "pin",
            StatementKind::Specialize(_) => "specialize",
            StatementKind::Tune(_) => "tune",
        }
    }
}

impl Statement {
    /// Whether a place is in this statement. (Places are noted in the order of reading.)
    pub fn holds(&self, span: SpanId) -> bool {
        (self.name..=self.span).contains(&span)
    }
}

/// Reads a statement from after its first name on; `None`: the name begins none.
pub(super) fn statement(cursor: &mut Cursor<'_>, name: &Name) -> Result<Option<Item>, Error> {
    let (kind, end) = match name.as_str() {
        "pin" => pin(cursor)?,
        "specialize" => specialize(cursor)?,
        "tune" => tune(cursor)?,
        _ => return Ok(None),
    };
    let span = cursor.join(name.span, end);
    cursor.expect(";")?;
    Ok(Some(Item::Statement(Statement { kind, name: name.span, span })))
}

fn pin(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (names, end) = cursor.list(Delimiter::Parenthesis, |c| c.name("a dim"))?;
    if names.is_empty() {
        return Err(Error::new(end, "`pin` is given no dims").help("write `pin(K);`"));
    }
    Ok((StatementKind::Pin(names), end))
}

fn specialize(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    let (facts, end) = cursor.list(Delimiter::Parenthesis, expr::expr)?;
    if facts.is_empty() {
        return Err(Error::new(end, "`specialize` is given no facts").help("write `specialize(N % 4 == 0);`"));
    }
    Ok((StatementKind::Specialize(facts), end))
}

fn tune(cursor: &mut Cursor<'_>) -> Result<(StatementKind, SpanId), Error> {
    const FORM: &str = "a tuned constant is `tune B in [64, 128] = 64;`: its candidates, and the one of them that it is by default";
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

/// A statement inside a block.
pub(super) fn in_block(statement: &Statement) -> Error {
    let name = statement.kind.name();
    Error::new(statement.span, format!("`{name}` speaks of the whole variant, not of a stage"))
        .help("write it beside the stages' blocks")
}
